//! The values of Secrets that functions were given or return, so that they are masked in what functions make of them.

use std::collections::BTreeSet;
use std::ops::{Bound, Range};

use composition::object;
use composition::protocol::{Object, Resource, SecretData};
use manifest::secret::{self, MaskKey};
use serde_json::Value;

use super::pieces::Recording;

/// A shorter value is masked only where it stands alone: `1` is part of many texts.
const LEAST_WITHIN: usize = 6;

#[derive(Default)]
pub(super) struct KnownValues(BTreeSet<String>);

impl KnownValues {
    pub(super) fn add_details(&mut self, details: &SecretData) {
        details.values().for_each(|value| self.add(value));
    }

    /// The connection details of `resource`, and its values if it is a Secret.
    pub(super) fn add_resource(&mut self, resource: &Resource) {
        self.add_secret(&resource.object);
        self.add_details(&resource.connection_details);
    }

    fn add_secret(&mut self, object: &Object) {
        let is = |field: &str, expected: &str| object.get(field).is_some_and(|value| value == expected);
        if is("apiVersion", "v1") && is("kind", "Secret") {
            secret::decoded(object).for_each(|(_, value)| self.add(&value));
            // Functions may write values as text; the API server keeps them as data.
            let plain = object::map(object, &["stringData"]).into_iter().flatten();
            plain.filter_map(|(_, value)| value.as_str()).for_each(|value| self.add(value.as_bytes()));
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

    /// Masks them in everything that is recorded.
    pub(super) fn mask_all(&self, recording: &mut Recording, key: &MaskKey) {
        let values = recording.pieces_mut().into_iter().filter_map(|piece| piece.value.as_mut());
        values.for_each(|value| self.mask(value, key));
        recording.conditions.iter_mut().for_each(|condition| self.mask(condition, key));
        for text in recording.texts_mut() {
            if let Some(masked) = self.masked(text, key) {
                *text = masked;
            }
        }
    }

    /// Masks them within `value`.
    fn mask(&self, value: &mut Value, key: &MaskKey) {
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
        let mut masked = String::new();
        let mut shown = 0;
        for found in self.within(text) {
            masked.push_str(&text[shown..found.start]);
            masked.push_str(&mask(&text[found.clone()], key));
            shown = found.end;
        }
        (shown > 0).then(|| masked + &text[shown..])
    }

    /// Where there are values in a text. Those that overlap are one.
    fn within(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for at in 0..(text.len() + 1).saturating_sub(LEAST_WITHIN) {
            let Some(rest) = text.get(at..) else { continue };
            let Some(value) = self.longest_at(rest) else { continue };
            let end = at + value.len();
            match found.last_mut() {
                Some(last) if last.end > at => last.end = last.end.max(end),
                _ => found.push(at..end),
            }
        }
        found
    }

    /// The longest value that a text begins with. Values that begin alike are neighbours, so few are looked at.
    fn longest_at(&self, text: &str) -> Option<&String> {
        let begins_alike = |value: &&String| value.as_bytes().starts_with(&text.as_bytes()[..LEAST_WITHIN]);
        let up_to = (Bound::Unbounded, Bound::Included(text));
        self.0.range::<str, _>(up_to).rev().take_while(begins_alike).find(|value| text.starts_with(*value))
    }
}

fn mask(value: &str, key: &MaskKey) -> String {
    key.mask("", "", "", value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_masked_wherever_they_are_and_whatever_they_overlap() {
        let key = MaskKey::new(7);
        let check = |known: &[&str], text: &str, expected: &str| {
            let known = KnownValues(known.iter().map(|value| (*value).to_owned()).collect());
            let masked = known.masked(text, &key).unwrap_or_else(|| text.to_owned());
            let begin = masked.find("(sensitive").unwrap_or(masked.len());
            let end = masked.rfind(')').map_or(masked.len(), |at| at + 1);
            let outside = format!("{}…{}", &masked[..begin], &masked[end.max(begin)..]);
            assert_eq!(outside, expected, "{masked}");
        };
        check(&["hunter2"], "postgres://admin:hunter2@db", "postgres://admin:…@db");
        check(&["hunter2", "hunter2-and-more"], "a hunter2-and-more!", "a …!");
        check(&["abcdef", "cdefgh"], "xabcdefghy", "x…y");
        check(&["ünlocked"], "é ünlocked é", "é … é");
        // A short value is masked only where it stands alone.
        check(&["5432"], "db:5432", "db:5432…");
        check(&["5432"], "5432", "…");
        check(&[], "hunter2", "hunter2…");
    }
}
