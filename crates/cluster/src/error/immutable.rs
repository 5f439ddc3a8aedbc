//! Detects updates that failed because fields are immutable, so that only a new object can have the new values.

use serde_json::Value;

use super::class::is_immutable_cause;
use super::{Class, Error};

impl Error {
    /// The immutable fields, if they are the only reason for the failure: every finding of the server says so, and
    /// `sent` differs from `live` there. Otherwise a replacement would not help, or would destroy an object for an
    /// unrelated reason.
    pub fn immutable_fields(&self, sent: &Value, live: &Value) -> Option<Vec<String>> {
        if self.class() != Class::Immutable {
            return None;
        }
        let causes = &self.status()?.details.causes;
        let mut fields: Vec<String> = Vec::new();
        for cause in causes.iter().filter(|cause| is_immutable_cause(cause)) {
            if differs(at(sent, &cause.field), at(live, &cause.field)) {
                fields.push(cause.field.clone());
            }
        }
        fields.sort();
        fields.dedup();
        (!fields.is_empty()).then_some(fields)
    }
}

/// The value of a field as the server names it: `spec.ports[0].name`. A path that cannot be followed yields its parent,
/// so the comparison covers more rather than less.
fn at<'a>(object: &'a Value, field: &str) -> &'a Value {
    let mut value = object;
    for part in field.split(['.', '[', ']']).filter(|part| !part.is_empty()) {
        let next = match value {
            Value::Object(map) => map.get(part),
            Value::Array(list) => part.parse::<usize>().ok().and_then(|index| list.get(index)),
            _ => None,
        };
        match next {
            Some(next) => value = next,
            None => return value,
        }
    }
    value
}

/// Whether anything in `sent` differs from `live`; fields that were not sent do not count.
fn differs(sent: &Value, live: &Value) -> bool {
    match (sent, live) {
        (Value::Object(sent), Value::Object(live)) => {
            sent.iter().any(|(key, value)| live.get(key).is_none_or(|live| differs(value, live)))
        }
        (Value::Array(sent), Value::Array(live)) => {
            sent.len() != live.len() || sent.iter().zip(live).any(|(sent, live)| differs(sent, live))
        }
        (sent, live) => sent != live,
    }
}
