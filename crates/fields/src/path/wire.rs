//! One key of a FieldsV1 object, read and written exactly as structured-merge-diff does.

use std::fmt::Write as _;

use manifest::{write_jsoniter, write_jsoniter_name};
use serde_json::Value;

use super::{ListKey, PathElement};

/// Why a FieldsV1 key names no path element.
#[derive(Debug, thiserror::Error)]
pub enum ElementError {
    /// There is no type and separator at the start.
    #[error("path element {0:?} does not begin with a type and a colon")]
    NoType(String),
    /// The type is not one of `f`, `k`, `v` and `i`. Decoders skip such an element: a later version may know it.
    #[error("path element {0:?} has an unknown type")]
    UnknownType(String),
    /// What follows `k:` is no JSON object, or what follows `v:` no JSON value.
    #[error("path element {element:?} holds malformed JSON")]
    Json {
        /// The element as it came.
        element: String,
        /// What is wrong with the JSON.
        source: serde_json::Error,
    },
    /// What follows `i:` is not a position.
    #[error("path element {element:?} holds no list position")]
    Index {
        /// The element as it came.
        element: String,
        /// What is wrong with the number.
        source: std::num::ParseIntError,
    },
}

impl PathElement {
    /// Reads one key of a FieldsV1 object, such as `f:spec` or `k:{"name":"web"}`.
    pub fn from_wire(text: &str) -> Result<Self, ElementError> {
        let Some((kind, content)) = text.split_at_checked(2).filter(|(kind, _)| kind.ends_with(':')) else {
            return Err(ElementError::NoType(text.to_owned()));
        };
        match kind {
            "f:" => Ok(Self::field(content)),
            "k:" => first_json(content)
                .map(|fields: KeyFields| Self::Key(ListKey::new(fields.0)))
                .map_err(|source| ElementError::Json { element: text.to_owned(), source }),
            "v:" => first_json(content)
                .map(Self::value)
                .map_err(|source| ElementError::Json { element: text.to_owned(), source }),
            "i:" => content
                .parse()
                .map(Self::Index)
                .map_err(|source| ElementError::Index { element: text.to_owned(), source }),
            _ => Err(ElementError::UnknownType(text.to_owned())),
        }
    }

    /// The key of a FieldsV1 object that names this element.
    pub fn to_wire(&self) -> String {
        let mut text = String::new();
        self.write_wire(&mut text);
        text
    }

    /// Appends what [`to_wire`](Self::to_wire) returns.
    pub(crate) fn write_wire(&self, text: &mut String) {
        match self {
            Self::Field(name) => {
                text.push_str("f:");
                text.push_str(name);
            }
            Self::Key(key) => {
                text.push_str("k:{");
                for (position, (name, value)) in key.fields().enumerate() {
                    if position > 0 {
                        text.push(',');
                    }
                    write_jsoniter_name(text, name);
                    text.push(':');
                    write_jsoniter(text, value);
                }
                text.push('}');
            }
            Self::Value(value) => {
                text.push_str("v:");
                write_jsoniter(text, value.get());
            }
            Self::Index(index) => write!(text, "i:{index}").expect("a String takes everything"),
        }
    }
}

/// Go reads one JSON value and leaves what follows it alone.
fn first_json<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    T::deserialize(&mut serde_json::Deserializer::from_str(text))
}

/// The fields of a `k:` element in their order, a repeated one kept as often as it is there.
struct KeyFields(Vec<(String, Value)>);

impl<'de> serde::Deserialize<'de> for KeyFields {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = KeyFields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of merge-key fields")
            }

            /// Null reads as an empty object.
            fn visit_unit<E>(self) -> Result<KeyFields, E> {
                Ok(KeyFields(Vec::new()))
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<KeyFields, A::Error> {
                let mut fields = Vec::with_capacity(2);
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(KeyFields(fields))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
