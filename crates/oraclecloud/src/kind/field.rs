//! The fields of a kind: what each is made of, and whether it is required and can change.
//!
//! A field is one line: `string required`, `integer update`, `(BASIC|PREMIUM)`, `Endpoint[] update`. One with bounds or a
//! sentence is an object whose `is` is that line.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The field in which users write the JSON of a type that is newer than its description.
pub const JSON_DATA: &str = "jsonData";

pub type Fields = BTreeMap<String, Field>;

/// An object that fields are made of.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Model {
    #[serde(default)]
    pub doc: Option<String>,
    /// The field that says which of several types an object is. The fields are those of all of them, and users can write
    /// `jsonData` for types that are newer.
    #[serde(default)]
    pub discriminator: Option<String>,
    /// The values of the discriminator that the emulated service accepts.
    #[serde(default)]
    pub variants: Vec<String>,
    pub fields: Fields,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "FieldText")]
pub struct Field {
    pub shape: Shape,
    /// In a create, or in every response.
    pub required: bool,
    /// Whether an update can change it.
    pub update: bool,
    /// Whether only an update takes it, and no create.
    pub late: bool,
    /// Bounds of the custom resource.
    pub minimum: Option<i64>,
    pub maximum: Option<i64>,
    pub min_length: Option<i64>,
    /// What the emulated service accepts, if that is less.
    pub accepts: Option<(i64, i64)>,
    /// What the emulated service sets if a create leaves it out.
    pub default: Option<Value>,
    /// The only field of its objects that the emulated service shows.
    pub only: Option<String>,
    pub doc: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    Text,
    Integer,
    Number,
    Boolean,
    Time,
    /// A text that is kept in a Secret: a user names the Secret.
    Secret,
    /// Anything, also what a recursive model is cut to.
    Any,
    /// One of these texts.
    OneOf(Vec<String>),
    Model(String),
    List(Box<Self>),
    Map(Box<Self>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum FieldText {
    Short(String),
    Long(LongField),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LongField {
    is: String,
    minimum: Option<i64>,
    maximum: Option<i64>,
    min_length: Option<i64>,
    accepts: Option<(i64, i64)>,
    default: Option<Value>,
    only: Option<String>,
    doc: Option<String>,
}

impl TryFrom<FieldText> for Field {
    type Error = String;

    fn try_from(text: FieldText) -> Result<Self, String> {
        match text {
            FieldText::Short(is) => is.parse(),
            FieldText::Long(long) => {
                let LongField { is, minimum, maximum, min_length, accepts, default, only, doc } = long;
                Ok(Self { minimum, maximum, min_length, accepts, default, only, doc, ..is.parse()? })
            }
        }
    }
}

impl std::str::FromStr for Field {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split(' ');
        let shape = words.next().unwrap_or_default().parse()?;
        let mut field = Self {
            shape,
            required: false,
            update: false,
            late: false,
            minimum: None,
            maximum: None,
            min_length: None,
            accepts: None,
            default: None,
            only: None,
            doc: None,
        };
        for word in words {
            match word {
                "required" => field.required = true,
                "update" => field.update = true,
                "late" => (field.update, field.late) = (true, true),
                _ => return Err(format!("`{word}` in the field `{text}` is not required, update or late")),
            }
        }
        Ok(field)
    }
}

impl std::str::FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(of) = text.strip_suffix("[]") {
            return Ok(Self::List(Box::new(of.parse()?)));
        }
        if let Some(of) = text.strip_suffix("{}") {
            return Ok(Self::Map(Box::new(of.parse()?)));
        }
        if let Some(values) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
            return Ok(Self::OneOf(values.split('|').map(str::to_owned).collect()));
        }
        Ok(match text {
            "string" => Self::Text,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "time" => Self::Time,
            "secret" => Self::Secret,
            "any" => Self::Any,
            model if model.starts_with(|first: char| first.is_ascii_uppercase()) => {
                Self::Model(model.to_owned())
            }
            _ => return Err(format!("`{text}` is neither a type nor the name of a model")),
        })
    }
}

impl Shape {
    /// The models that it is made of.
    pub fn model(&self) -> Option<&str> {
        match self {
            Self::Model(name) => Some(name),
            Self::List(of) | Self::Map(of) => of.model(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_one_line() {
        let check = |text: &str, shape: Shape, flags: [bool; 3]| {
            let field: Field = text.parse().unwrap();
            assert_eq!((field.shape, [field.required, field.update, field.late]), (shape, flags), "{text}");
        };
        check("string required update", Shape::Text, [true, true, false]);
        check("integer", Shape::Integer, [false; 3]);
        check("boolean late", Shape::Boolean, [false, true, true]);
        check("(A|B) required", Shape::OneOf(vec!["A".into(), "B".into()]), [true, false, false]);
        check("string{}{}", Shape::Map(Box::new(Shape::Map(Box::new(Shape::Text)))), [false; 3]);
        check("Endpoint[]", Shape::List(Box::new(Shape::Model("Endpoint".into()))), [false; 3]);
        for invalid in ["", "text", "string needed", "endpoint[]"] {
            assert!(invalid.parse::<Field>().is_err(), "{invalid}");
        }
    }
}
