//! The fields of a kind: what each is made of, and whether it is required and can change.
//!
//! A field is one line: `string required`, `integer update`, `(BASIC|PREMIUM)`, `Endpoint[] update`. One with bounds or a
//! sentence is an object whose `is` is that line.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::{Map, Value};

/// The field in which users write the JSON of a type that is newer than its description.
pub const JSON_DATA: &str = "jsonData";

pub type Fields = BTreeMap<String, Field>;

/// An object: the spec or the status of a kind, or what their fields are made of.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Model {
    #[serde(default)]
    pub doc: Option<String>,
    /// The field that says which of several types an object is. The fields are those of all of them, and users can write
    /// `jsonData` for types that are newer.
    #[serde(default)]
    pub discriminator: Option<String>,
    /// The values of the discriminator with the fields that not all types have, or that only some require.
    #[serde(default)]
    pub variants: BTreeMap<String, Fields>,
    pub fields: Fields,
}

impl Model {
    /// The type of an object.
    pub fn variant<'a>(&self, object: &'a Map<String, Value>) -> Option<&'a str> {
        object.get(self.discriminator.as_ref()?)?.as_str()
    }

    /// The types that have a field, if not all have it, and whether they require it.
    pub fn variants_with<'a>(&'a self, field: &'a str) -> impl Iterator<Item = (&'a str, bool)> {
        let with = move |own: &Fields| own.get(field).map(|field| field.required);
        self.variants.iter().filter_map(move |(variant, own)| Some((variant.as_str(), with(own)?)))
    }

    /// The fields of an object of a type; of one whose type is not known, those of all.
    pub fn of_variant(&self, variant: Option<&str>) -> impl Iterator<Item = (&String, &Field)> {
        let own = variant.and_then(|variant| self.variants.get(variant));
        self.fields.iter().filter_map(move |(name, field)| {
            let is_special = || self.variants.values().any(|fields| fields.contains_key(name));
            let of_type = own.map(|own| own.get(name));
            match of_type {
                Some(Some(field)) => Some((name, field)),
                Some(None) if is_special() => None,
                _ => Some((name, field)),
            }
        })
    }
}

impl Deref for Model {
    type Target = Fields;

    fn deref(&self) -> &Fields {
        &self.fields
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Field {
    is: Line,
    /// Bounds of the custom resource.
    pub minimum: Option<i64>,
    pub maximum: Option<i64>,
    pub min_length: Option<i64>,
    /// What the emulated service accepts, if that is less.
    pub accepts: Option<(i64, i64)>,
    /// What the emulated service sets if a create leaves it out. Of a discriminator: what a create says then.
    pub default: Option<Value>,
    /// The only field of its objects that the emulated service shows.
    pub only: Option<String>,
    pub doc: Option<String>,
}

impl Deref for Field {
    type Target = Line;

    fn deref(&self) -> &Line {
        &self.is
    }
}

/// What a field is made of, and what its words say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
#[expect(clippy::struct_excessive_bools, reason = "the words of a line do not depend on each other")]
pub struct Line {
    pub shape: Shape,
    /// In a create, or in every response.
    pub required: bool,
    /// Whether an update can change it.
    pub update: bool,
    /// What an update takes of it, if that is less.
    pub updated: Option<Shape>,
    /// Whether only an update takes it, and no create.
    pub late: bool,
    /// Whether every update needs it.
    pub always: bool,
    /// Whether it says where a resource is listed, and no body has it.
    pub local: bool,
    /// Whether a response shows it otherwise than it was sent.
    pub unread: bool,
    /// Whether the secret is sent in base64.
    pub base64: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    Text,
    Integer,
    Number,
    Boolean,
    Time,
    /// A text that is kept in a Secret: a user names the Secret.
    Secret,
    /// Anything, also what a recursive model is cut to.
    #[default]
    Any,
    /// One of these texts.
    OneOf(Vec<String>),
    Model(String),
    List(Box<Self>),
    Map(Box<Self>),
}

impl TryFrom<String> for Line {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut words = text.split(' ');
        let mut line = Self { shape: words.next().unwrap_or_default().parse()?, ..Self::default() };
        for word in words {
            match word.split_once('=').unwrap_or((word, "")) {
                ("required", "") => line.required = true,
                ("update", "") => line.update = true,
                ("update", shape) => (line.update, line.updated) = (true, Some(shape.parse()?)),
                ("late", "") => (line.update, line.late) = (true, true),
                ("always", "") => line.always = true,
                ("local", "") => line.local = true,
                ("unread", "") => line.unread = true,
                ("base64", "") => line.base64 = true,
                _ => return Err(format!("`{word}` in the field `{text}` is not a word of fields")),
            }
        }
        Ok(line)
    }
}

impl FromStr for Shape {
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
    /// What the entries of lists and maps of it are, in the end.
    pub fn innermost(&self) -> &Self {
        match self {
            Self::List(of) | Self::Map(of) => of.innermost(),
            _ => self,
        }
    }

    /// The model that it is made of.
    pub fn model(&self) -> Option<&str> {
        if let Self::Model(name) = self.innermost() { Some(name) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_one_line() {
        let check = |text: &str, line: Line| assert_eq!(Line::try_from(text.to_owned()), Ok(line), "{text}");
        let line = |shape: Shape| Line { shape, ..Line::default() };
        let model = |name: &str| Shape::Model(name.to_owned());
        check("string required update", Line { required: true, update: true, ..line(Shape::Text) });
        check("integer", line(Shape::Integer));
        check("boolean late", Line { late: true, update: true, ..line(Shape::Boolean) });
        check("(A|B) always", Line { always: true, ..line(Shape::OneOf(vec!["A".into(), "B".into()])) });
        check("string{}{}", line(Shape::Map(Box::new(Shape::Map(Box::new(Shape::Text))))));
        check("Endpoint[]", line(Shape::List(Box::new(model("Endpoint")))));
        check("A update=B", Line { update: true, updated: Some(model("B")), ..line(model("A")) });
        check("secret base64", Line { base64: true, ..line(Shape::Secret) });
        for invalid in ["", "text", "string needed", "endpoint[]", "string update=text"] {
            assert!(Line::try_from(invalid.to_owned()).is_err(), "{invalid}");
        }
    }
}
