//! Decodes values from JSON, as leniently as terraform-plugin-go reads states.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::path::{Path, Step};
use crate::types::{MAX_DEPTH, Type};
use crate::value::{Number, Object, Value, ValueError};

/// How to treat attributes that the type does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndefinedAttributes {
    Refuse,
    /// For a state whose schema has since lost attributes.
    Ignore,
}

/// Absent attributes are null.
pub fn decode(json: &[u8], ty: &Type, undefined: UndefinedAttributes) -> Result<Value, ValueError> {
    let raw: &RawValue = parse(json, &Path::root())?;
    Reader { undefined, path: Path::root() }.value(raw, ty)
}

struct Reader {
    undefined: UndefinedAttributes,
    path: Path,
}

impl Reader {
    fn value(&mut self, raw: &RawValue, ty: &Type) -> Result<Value, ValueError> {
        let text = raw.get();
        if text == "null" {
            return Ok(Value::Null);
        }
        match ty {
            Type::Bool => self.bool(text),
            Type::Number => self.number(text),
            Type::String => self.string(text),
            Type::Dynamic => self.dynamic(text),
            Type::List(element) => self.elements(text, element).map(Value::List),
            Type::Set(element) => self.elements(text, element).map(Value::set),
            Type::Tuple(types) => self.tuple(text, types),
            Type::Map(element) => {
                let mut object = Object::new();
                for (key, raw) in self.parse::<BTreeMap<String, &RawValue>>(text)? {
                    let value = self.inside(Step::Key(key.clone()), raw, element)?;
                    object.set(key, value);
                }
                Ok(Value::Object(object))
            }
            Type::Object(attributes) => self.object(text, attributes),
        }
    }

    fn inside(&mut self, step: Step, raw: &RawValue, ty: &Type) -> Result<Value, ValueError> {
        // A path is as long as the value is deep. Types from a schema are shallow, but a dynamic value has its own.
        if self.path.steps().len() >= MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.path.push(step);
        let value = self.value(raw, ty)?;
        self.path.pop();
        Ok(value)
    }

    fn bool(&self, text: &str) -> Result<Value, ValueError> {
        match text {
            "true" | r#""true""# | "1" | r#""1""# => Ok(Value::Bool(true)),
            "false" | r#""false""# | "0" | r#""0""# => Ok(Value::Bool(false)),
            _ => Err(self.error("expected a bool")),
        }
    }

    fn number(&self, text: &str) -> Result<Value, ValueError> {
        let number = match text.as_bytes().first() {
            Some(b'"') => Number::parse(&self.parse::<String>(text)?),
            _ => Number::parse(text),
        };
        number.map(Value::Number).map_err(|_| self.error("expected a number"))
    }

    fn string(&self, text: &str) -> Result<Value, ValueError> {
        match text.as_bytes().first() {
            Some(b'"') => self.parse::<String>(text).map(Value::String),
            // The old SDK wrote some strings as numbers and bools.
            Some(b'{' | b'[') | None => Err(self.error("expected a string")),
            Some(_) => Ok(Value::from(text)),
        }
    }

    fn dynamic(&mut self, text: &str) -> Result<Value, ValueError> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Typed<'j> {
            #[serde(borrow)]
            value: &'j RawValue,
            #[serde(borrow, rename = "type")]
            ty: &'j RawValue,
        }
        let typed: Typed<'_> = self.parse(text)?;
        let ty = Type::from_json_bytes(typed.ty.get().as_bytes())
            .map_err(|error| self.error(error.to_string()))?;
        if ty == Type::Dynamic && typed.value.get() != "null" {
            // Only a null has no type of its own; anything else could nest without end.
            return Err(self.error("a value whose type is dynamic"));
        }
        let value = self.value(typed.value, &ty)?;
        Ok(if ty == Type::Dynamic { value } else { Value::dynamic_of(ty, value) })
    }

    fn elements(&mut self, text: &str, element: &Type) -> Result<Vec<Value>, ValueError> {
        let raws = self.parse::<Vec<&RawValue>>(text)?.into_iter().enumerate();
        raws.map(|(index, raw)| self.inside(Step::Index(index), raw, element)).collect()
    }

    fn tuple(&mut self, text: &str, types: &[Type]) -> Result<Value, ValueError> {
        let raws = self.parse::<Vec<&RawValue>>(text)?;
        if raws.len() != types.len() {
            return Err(self.error(format!(
                "expected a tuple of {}, found {} elements",
                types.len(),
                raws.len()
            )));
        }
        let typed = raws.into_iter().zip(types).enumerate();
        let values = typed.map(|(index, (raw, ty))| self.inside(Step::Index(index), raw, ty));
        values.collect::<Result<_, _>>().map(Value::List)
    }

    fn object(&mut self, text: &str, attributes: &BTreeMap<String, Type>) -> Result<Value, ValueError> {
        let mut raws = self.parse::<BTreeMap<String, &RawValue>>(text)?;
        let mut object = Object::new();
        for (name, ty) in attributes {
            let value = match raws.remove(name) {
                Some(raw) => self.inside(Step::Attribute(name.clone()), raw, ty)?,
                None => Value::Null,
            };
            object.set(name, value);
        }
        match raws.first_key_value() {
            Some((name, _)) if self.undefined == UndefinedAttributes::Refuse => {
                Err(self.error(format!("there is no attribute {name:?}")))
            }
            _ => Ok(Value::Object(object)),
        }
    }

    fn parse<'j, T: serde::Deserialize<'j>>(&self, text: &'j str) -> Result<T, ValueError> {
        parse(text.as_bytes(), &self.path)
    }

    fn error(&self, problem: impl Into<String>) -> ValueError {
        ValueError { path: self.path.clone(), problem: problem.into() }
    }
}

fn parse<'j, T: serde::Deserialize<'j>>(json: &'j [u8], path: &Path) -> Result<T, ValueError> {
    serde_json::from_slice(json).map_err(|error| {
        // The parser's own message may quote the value, which may be secret.
        let problem = match error.classify() {
            serde_json::error::Category::Data => "not of the expected type".to_owned(),
            _ => format!("not JSON at line {}, column {}", error.line(), error.column()),
        };
        ValueError { path: path.clone(), problem }
    })
}
