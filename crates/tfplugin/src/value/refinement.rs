//! What is certain about an unknown value.

use super::{Number, Value};

/// What is certain about an unknown value; nothing by default. Terraform evaluates conditions with it at plan time and
/// holds the provider to it after the apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Refinement {
    pub not_null: bool,
    /// Of a string.
    pub prefix: String,
    pub min: Option<Bound>,
    pub max: Option<Bound>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bound {
    pub number: Number,
    pub inclusive: bool,
}

impl Refinement {
    pub fn not_null() -> Self {
        Self { not_null: true, ..Self::default() }
    }

    /// A string, not null, that begins with `prefix`.
    pub fn prefix(prefix: impl Into<String>) -> Self {
        Self { not_null: true, prefix: prefix.into(), ..Self::default() }
    }

    pub fn allows(&self, value: &Value) -> bool {
        match value {
            Value::Unknown(_) | Value::Bool(_) => true,
            Value::Null => !self.not_null,
            Value::String(text) => text.starts_with(&self.prefix),
            Value::Number(number) => {
                let above =
                    |bound: &Bound| *number > bound.number || (bound.inclusive && *number == bound.number);
                let below =
                    |bound: &Bound| *number < bound.number || (bound.inclusive && *number == bound.number);
                self.min.as_ref().is_none_or(above) && self.max.as_ref().is_none_or(below)
            }
            Value::List(elements) => self.allows_length(elements.len()),
            Value::Set(elements) => self.allows_length(elements.len()),
            Value::Object(object) => self.allows_length(object.len()),
            Value::Dynamic(dynamic) => self.allows(&dynamic.value),
        }
    }

    fn allows_length(&self, length: usize) -> bool {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        self.min_length.is_none_or(|min| length >= min) && self.max_length.is_none_or(|max| length <= max)
    }
}
