//! What is already certain about a value that is not known yet.

use super::{Number, Value};

/// What is certain about an unknown value. Terraform uses it to decide conditions at plan time, and holds the provider
/// to it after the apply.
///
/// The default says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Refinement {
    /// It will not be null.
    pub not_null: bool,
    /// The text it will begin with.
    pub prefix: String,
    /// The number will not be below.
    pub min: Option<Bound>,
    /// The number will not be above.
    pub max: Option<Bound>,
    /// The collection will not have fewer elements.
    pub min_length: Option<u64>,
    /// The collection will not have more elements.
    pub max_length: Option<u64>,
}

/// The end of a range of numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bound {
    /// The number at the end.
    pub number: Number,
    /// Whether the number itself is in the range.
    pub inclusive: bool,
}

impl Refinement {
    /// It will be there.
    pub fn not_null() -> Self {
        Self { not_null: true, ..Self::default() }
    }

    /// It will be a text that begins with `prefix`.
    pub fn prefix(prefix: impl Into<String>) -> Self {
        Self { not_null: true, prefix: prefix.into(), ..Self::default() }
    }

    /// Whether `value`, now that it is known, is what was promised.
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
