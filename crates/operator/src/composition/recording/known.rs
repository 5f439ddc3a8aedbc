//! The values of Secrets that functions were given, so that they are masked in what functions make of them.

use std::collections::BTreeSet;

use composition::protocol::{Object, SecretData};
use manifest::secret::{self, MaskKey};
use serde_json::Value;

/// A shorter value is masked only where it stands alone: `1` is part of many texts.
const LEAST_WITHIN: usize = 6;

#[derive(Default)]
pub(super) struct KnownValues(BTreeSet<String>);

impl KnownValues {
    pub(super) fn add_details(&mut self, details: &SecretData) {
        details.values().for_each(|value| self.add(value));
    }

    /// The values of `object`, if it is a Secret.
    pub(super) fn add_secret(&mut self, object: &Object) {
        let is = |field: &str, expected: &str| object.get(field).is_some_and(|value| value == expected);
        if is("apiVersion", "v1") && is("kind", "Secret") {
            secret::decoded(object).for_each(|(_, value)| self.add(&value));
        }
    }

    fn add(&mut self, value: &[u8]) {
        self.0.insert(secret::encoded(value));
        if let Ok(text) = std::str::from_utf8(value) {
            // Functions often remove the line break at the end of a file.
            self.0.extend([text.to_owned(), text.trim().to_owned()]);
        }
        self.0.remove("");
    }

    /// Masks them within `value`.
    pub(super) fn mask(&self, value: &mut Value, key: &MaskKey) {
        match value {
            Value::Object(fields) => fields.values_mut().for_each(|value| self.mask(value, key)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask(item, key)),
            Value::String(text) => {
                if let Some(masked) = self.masked(text, key) {
                    *text = masked;
                }
            }
            Value::Number(number) => {
                let text = number.to_string();
                if text.len() >= LEAST_WITHIN && self.0.contains(&text) {
                    *value = mask(&text, key).into();
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn masked(&self, text: &str, key: &MaskKey) -> Option<String> {
        if self.0.contains(text) {
            return Some(mask(text, key));
        }
        let mut within: Vec<&String> =
            self.0.iter().filter(|value| value.len() >= LEAST_WITHIN && text.contains(*value)).collect();
        // A value may be part of another.
        within.sort_by_key(|value| std::cmp::Reverse(value.len()));
        let masked = |text: String, value: &String| text.replace(value, &mask(value, key));
        (!within.is_empty()).then(|| within.into_iter().fold(text.to_owned(), masked))
    }
}

fn mask(value: &str, key: &MaskKey) -> String {
    key.mask("", "", "", value)
}
