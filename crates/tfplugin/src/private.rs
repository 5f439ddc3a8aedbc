//! Private state, in the format of terraform-plugin-framework, so that states can move between providers built on it and
//! on this crate.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Private state: JSON texts by key, which Terraform stores with a resource and never reads.
///
/// The format, that of terraform-plugin-framework 1.19: a JSON object whose values are base64-encoded JSON texts, with sorted
/// keys, and no bytes at all without keys. Keys that begin with a dot belong to the framework.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Private {
    keys: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrivateError {
    #[error("private state is not a JSON object")]
    NotAnObject,
    #[error("the value of private state key {0:?} is not JSON")]
    NotJson(String),
}

/// Set by an import and removed by the read that follows it: until then the identity may change.
const IMPORT_BEFORE_READ: &str = ".import_before_read";

impl Private {
    pub fn decode(bytes: &[u8]) -> Result<Self, PrivateError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let stored: Option<BTreeMap<String, serde_json::Value>> =
            serde_json::from_slice(bytes).map_err(|_| PrivateError::NotAnObject)?;
        let mut keys = BTreeMap::new();
        for (key, value) in stored.unwrap_or_default() {
            let Some(value) = value.as_str().and_then(|text| BASE64.decode(text).ok()) else {
                // The old SDK stored plain JSON for itself; the framework discards it, too.
                return Ok(Self::default());
            };
            let text = String::from_utf8(value).ok().filter(|text| is_json(text));
            keys.insert(key.clone(), text.ok_or(PrivateError::NotJson(key))?);
        }
        Ok(Self { keys })
    }

    pub fn encode(&self) -> Vec<u8> {
        if self.keys.is_empty() {
            return Vec::new();
        }
        let encoded: BTreeMap<&str, String> =
            self.keys.iter().map(|(key, text)| (key.as_str(), BASE64.encode(text))).collect();
        serde_json::to_vec(&encoded).expect("a map of strings is serializable")
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.keys.get(key).map(String::as_str)
    }

    /// `None` if the key is absent or its value is not a `T`.
    pub fn get_as<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.get(key)?).ok()
    }

    pub fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// The key must not begin with a dot.
    pub fn set(&mut self, key: impl Into<String>, value: &impl Serialize) {
        let (key, text) = (key.into(), serde_json::to_string(value).expect("private state is serializable"));
        assert!(!key.starts_with('.'), "a key that begins with a dot belongs to the framework: {key}");
        self.keys.insert(key, text);
    }

    /// Stores the value, or removes the key.
    pub fn set_optional(&mut self, key: &str, value: Option<&impl Serialize>) {
        match value {
            Some(value) => self.set(key, value),
            None => self.remove(key),
        }
    }

    pub fn remove(&mut self, key: &str) {
        self.keys.remove(key);
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(crate) fn mark_imported(&mut self) {
        self.keys.insert(IMPORT_BEFORE_READ.to_owned(), "true".to_owned());
    }

    /// Whether an import came just before; removes the mark.
    pub(crate) fn take_imported(&mut self) -> bool {
        self.keys.remove(IMPORT_BEFORE_READ).is_some()
    }
}

/// Shows the keys only.
impl fmt::Debug for Private {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Private({})", self.keys.keys().map(String::as_str).collect::<Vec<_>>().join(", "))
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_the_frameworks() {
        let mut private = Private::default();
        assert_eq!(private.encode(), b"");
        private.set("pending_projection", &true);
        private.set("ownership_baseline", &serde_json::json!({"spec.replicas": "kubectl"}));
        let bytes = private.encode();
        assert_eq!(
            String::from_utf8_lossy(&bytes),
            r#"{"ownership_baseline":"eyJzcGVjLnJlcGxpY2FzIjoia3ViZWN0bCJ9","pending_projection":"dHJ1ZQ=="}"#
        );
        assert_eq!(Private::decode(&bytes), Ok(private));
    }

    #[test]
    fn values_of_another_type_are_not_read() {
        let mut private = Private::default();
        private.set("n", &7);
        assert_eq!(private.get_as::<i64>("n"), Some(7));
        assert_eq!(private.get_as::<String>("n"), None);
        assert_eq!(private.get_as::<i64>("m"), None);
        private.remove("n");
        assert!(private.is_empty());
    }

    #[test]
    fn the_import_mark_is_taken_once() {
        let mut private = Private::default();
        private.mark_imported();
        assert_eq!(String::from_utf8_lossy(&private.encode()), r#"{".import_before_read":"dHJ1ZQ=="}"#);
        let mut stored = Private::decode(&private.encode()).unwrap();
        assert!(stored.take_imported());
        assert!(!stored.take_imported());
        assert_eq!(stored.encode(), b"");
    }

    #[test]
    fn other_formats_are_discarded_or_refused() {
        let check = |bytes: &str, expected: Result<Private, PrivateError>| {
            assert_eq!(Private::decode(bytes.as_bytes()), expected, "{bytes}");
        };
        check("", Ok(Private::default()));
        check("null", Ok(Private::default()));
        check("{}", Ok(Private::default()));
        check(r#"{"schema_version":"1","timeouts":{"create":1}}"#, Ok(Private::default()));
        check("[]", Err(PrivateError::NotAnObject));
        check("nonsense", Err(PrivateError::NotAnObject));
        check(r#"{"k":"eA=="}"#, Err(PrivateError::NotJson("k".to_owned())));
        check(r#"{"k":"/w=="}"#, Err(PrivateError::NotJson("k".to_owned())));
    }

    #[test]
    fn debug_output_shows_keys_without_values() {
        let mut private = Private::default();
        private.set("token", &"hunter2");
        assert_eq!(format!("{private:?}"), "Private(token)");
    }
}
