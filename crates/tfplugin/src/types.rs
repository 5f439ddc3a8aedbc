//! Terraform's types and their JSON notation, used by schemas and dynamic values.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value as Json;

/// Limits nesting, because the type of a dynamic value comes from the peer.
pub(crate) const MAX_DEPTH: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    Bool,
    /// Of any size and precision.
    Number,
    String,
    /// Any value; it carries its own type.
    Dynamic,
    List(Box<Type>),
    Set(Box<Type>),
    Map(Box<Type>),
    Tuple(Vec<Type>),
    Object(BTreeMap<String, Type>),
}

impl Type {
    pub fn list(element: Self) -> Self {
        Self::List(Box::new(element))
    }

    pub fn set(element: Self) -> Self {
        Self::Set(Box::new(element))
    }

    pub fn map(element: Self) -> Self {
        Self::Map(Box::new(element))
    }

    pub fn object<N: Into<String>>(attributes: impl IntoIterator<Item = (N, Self)>) -> Self {
        Self::Object(attributes.into_iter().map(|(name, ty)| (name.into(), ty)).collect())
    }

    /// The JSON notation: `"string"`, `["list","number"]`, `["object",{"a":"bool"}]`.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Bool => "bool".into(),
            Self::Number => "number".into(),
            Self::String => "string".into(),
            Self::Dynamic => "dynamic".into(),
            Self::List(element) => Json::Array(vec!["list".into(), element.to_json()]),
            Self::Set(element) => Json::Array(vec!["set".into(), element.to_json()]),
            Self::Map(element) => Json::Array(vec!["map".into(), element.to_json()]),
            Self::Tuple(elements) => {
                Json::Array(vec!["tuple".into(), Json::Array(elements.iter().map(Self::to_json).collect())])
            }
            Self::Object(attributes) => {
                let attributes = attributes.iter().map(|(name, ty)| (name.clone(), ty.to_json())).collect();
                Json::Array(vec!["object".into(), Json::Object(attributes)])
            }
        }
    }

    pub(crate) fn to_json_bytes(&self) -> Vec<u8> {
        self.to_json().to_string().into_bytes()
    }

    pub fn from_json(json: &Json) -> Result<Self, TypeError> {
        parse(json, MAX_DEPTH)
    }

    pub(crate) fn from_json_bytes(bytes: &[u8]) -> Result<Self, TypeError> {
        let json = serde_json::from_slice(bytes).map_err(|error| TypeError(error.to_string()))?;
        Self::from_json(&json)
    }
}

/// The JSON notation.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a type: {0}")]
pub struct TypeError(String);

fn parse(json: &Json, depth: usize) -> Result<Type, TypeError> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(TypeError(format!("nested deeper than {MAX_DEPTH} levels")));
    };
    match json {
        Json::String(name) => match name.as_str() {
            "bool" => Ok(Type::Bool),
            "number" => Ok(Type::Number),
            "string" => Ok(Type::String),
            "dynamic" => Ok(Type::Dynamic),
            _ => Err(TypeError(format!("there is no type {name:?}"))),
        },
        Json::Array(parts) => match &parts[..] {
            [Json::String(kind), of] => match (kind.as_str(), of) {
                ("list", of) => Ok(Type::list(parse(of, depth)?)),
                ("set", of) => Ok(Type::set(parse(of, depth)?)),
                ("map", of) => Ok(Type::map(parse(of, depth)?)),
                ("tuple", Json::Array(elements)) => {
                    elements.iter().map(|ty| parse(ty, depth)).collect::<Result<_, _>>().map(Type::Tuple)
                }
                ("object", Json::Object(attributes)) => {
                    let attributes =
                        attributes.iter().map(|(name, ty)| Ok((name.clone(), parse(ty, depth)?)));
                    attributes.collect::<Result<_, _>>().map(Type::Object)
                }
                _ => Err(TypeError(format!("there is no type {kind:?} of this shape"))),
            },
            // The third part lists optional attributes, which only a type constraint can have.
            [Json::String(kind), _, _] if kind == "object" => {
                Err(TypeError("a value's type has no optional attributes".to_owned()))
            }
            _ => Err(TypeError("expected a kind and an element type".to_owned())),
        },
        _ => Err(TypeError("expected a name or a list".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notation_reads_back_as_the_same_type() {
        let check = |notation: &str, ty: Type| {
            assert_eq!(ty.to_string(), notation);
            assert_eq!(Type::from_json_bytes(notation.as_bytes()), Ok(ty), "{notation}");
        };
        check(r#""bool""#, Type::Bool);
        check(r#""number""#, Type::Number);
        check(r#""string""#, Type::String);
        check(r#""dynamic""#, Type::Dynamic);
        check(r#"["list","string"]"#, Type::list(Type::String));
        check(r#"["set",["map","number"]]"#, Type::set(Type::map(Type::Number)));
        check(r#"["tuple",["bool","dynamic"]]"#, Type::Tuple(vec![Type::Bool, Type::Dynamic]));
        check(r#"["tuple",[]]"#, Type::Tuple(vec![]));
        check(
            r#"["object",{"a":"bool","b":"string"}]"#,
            Type::object([("b", Type::String), ("a", Type::Bool)]),
        );
    }

    #[test]
    fn invalid_types_are_refused() {
        let check = |notation: &str, message: &str| {
            let error = Type::from_json_bytes(notation.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(message), "{notation}: {error}");
        };
        check("", "EOF");
        check(r#""int""#, "no type \"int\"");
        check("7", "expected a name or a list");
        check(r#"["list"]"#, "expected a kind");
        check(r#"["tuple","string"]"#, "of this shape");
        check(r#"["object",{"a":"bool"},["a"]]"#, "optional attributes");
        let deep = format!("{}\"string\"{}", r#"["list","#.repeat(100), "]".repeat(100));
        check(&deep, "deeper than 100");
    }
}
