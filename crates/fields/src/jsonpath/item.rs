//! What a path selects while it is evaluated: values of the object, and literals of the template.

use std::borrow::Cow;

use serde_json::Value;

use super::go_text::go_text;
use super::place::Link;

/// One selected value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item<'p, 'v> {
    /// No value at all, which differs from a null inside an object: what `range` over nothing looks at.
    Nothing,
    /// A value of the object, and the way to it.
    Value(&'v Value, Link),
    /// A byte of a string, which is what `*` selects in one.
    Byte(u8),
    Text(&'p str),
    Int(i64),
    Float(f64),
    Bool(bool),
}

/// An item as comparisons see it: Go's basic kinds, and the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Basic<'a> {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'a str),
    Other,
}

impl<'v> Item<'_, 'v> {
    /// The value as data; a literal becomes the JSON value it spells.
    pub(super) fn into_value(self) -> Cow<'v, Value> {
        match self {
            Self::Value(value, _) => Cow::Borrowed(value),
            Self::Nothing => Cow::Owned(Value::Null),
            Self::Byte(byte) => Cow::Owned(byte.into()),
            Self::Text(text) => Cow::Owned(text.into()),
            Self::Int(int) => Cow::Owned(int.into()),
            Self::Float(float) => Cow::Owned(float.into()),
            Self::Bool(bool) => Cow::Owned(bool.into()),
        }
    }

    /// The value as kubectl prints it: maps and lists as JSON, everything else plainly.
    pub(super) fn to_text(self) -> String {
        match self {
            Self::Nothing => "<no value>".to_owned(),
            Self::Value(Value::Null, _) => "null".to_owned(),
            Self::Value(value @ (Value::Array(_) | Value::Object(_)), _) => manifest::to_json(value),
            other => go_text(&other.into_value()),
        }
    }

    /// The value as Go's `%v` prints it.
    pub(super) fn to_go_text(self) -> String {
        match self {
            Self::Nothing => "<invalid reflect.Value>".to_owned(),
            other => go_text(&other.into_value()),
        }
    }

    /// The name of the value's type in Go, when it is not a list.
    pub(super) fn go_type(&self) -> &'static str {
        match self {
            Self::Byte(_) => "uint8",
            Self::Int(_) => "int",
            Self::Value(Value::Object(_), _) => "map[string]interface {}",
            Self::Value(Value::Array(_), _) => "[]interface {}",
            _ => match self.basic() {
                Basic::Bool(_) => "bool",
                Basic::Int(_) => "int64",
                Basic::Float(_) => "float64",
                Basic::Text(_) => "string",
                Basic::Other => "nil",
            },
        }
    }

    /// The item as comparisons see it.
    pub(super) fn basic(&self) -> Basic<'_> {
        match self {
            Self::Value(Value::Bool(bool), _) | Self::Bool(bool) => Basic::Bool(*bool),
            // Kubernetes reads integers as int64 and everything beyond as float64.
            Self::Value(Value::Number(number), _) => {
                let float = || number.as_f64().unwrap_or(f64::NAN);
                number.as_i64().map_or_else(|| Basic::Float(float()), Basic::Int)
            }
            Self::Value(Value::String(text), _) => Basic::Text(text),
            Self::Text(text) => Basic::Text(text),
            Self::Int(int) => Basic::Int(*int),
            Self::Byte(byte) => Basic::Int((*byte).into()),
            Self::Float(float) => Basic::Float(*float),
            Self::Nothing | Self::Value(Value::Null | Value::Array(_) | Value::Object(_), _) => Basic::Other,
        }
    }
}
