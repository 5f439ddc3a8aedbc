//! What a resource keeps in the state for itself, in terraform-plugin-framework's layout, so that a state can move
//! between a provider built on it and one built on this crate.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// JSON texts by key, beside the attributes of a resource; Terraform stores them and never looks inside.
///
/// The layout (terraform-plugin-framework 1.19, `internal/privatestate`): a JSON object whose values are the base64 of
/// JSON texts, keys sorted, empty values left out, nothing at all for no keys. Keys that begin with a dot are the
/// framework's own.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Private {
    keys: BTreeMap<String, String>,
}

/// Stored bytes are not in the layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrivateError {
    /// They are no JSON object.
    #[error("private state is not a JSON object")]
    NotAnObject,
    /// The value of a key is no JSON text.
    #[error("the value of private state key {0:?} is not JSON")]
    NotJson(String),
}

/// Set by an import and taken away by the read that follows it: until then the identity may still change.
const IMPORT_BEFORE_READ: &str = ".import_before_read";

impl Private {
    /// Reads what an earlier apply stored.
    pub fn decode(bytes: &[u8]) -> Result<Self, PrivateError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let stored: Option<BTreeMap<String, serde_json::Value>> =
            serde_json::from_slice(bytes).map_err(|_| PrivateError::NotAnObject)?;
        let mut keys = BTreeMap::new();
        for (key, value) in stored.unwrap_or_default() {
            let Some(value) = value.as_str().and_then(|text| BASE64.decode(text).ok()) else {
                // The old SDK stored plain JSON here, for nobody but itself; the framework discards it, too.
                return Ok(Self::default());
            };
            let text = String::from_utf8(value).ok().filter(|text| is_json(text));
            keys.insert(key.clone(), text.ok_or(PrivateError::NotJson(key))?);
        }
        Ok(Self { keys })
    }

    /// The bytes to store.
    pub fn encode(&self) -> Vec<u8> {
        if self.keys.is_empty() {
            return Vec::new();
        }
        let encoded: BTreeMap<&str, String> =
            self.keys.iter().map(|(key, text)| (key.as_str(), BASE64.encode(text))).collect();
        serde_json::to_vec(&encoded).expect("texts by key are JSON")
    }

    /// The JSON text of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.keys.get(key).map(String::as_str)
    }

    /// The value of a key; `None` if there is none, or none of this kind.
    pub fn get_as<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.get(key)?).ok()
    }

    /// Whether there is a value for a key.
    pub fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// Sets the value of a key, which must not begin with a dot.
    pub fn set(&mut self, key: impl Into<String>, value: &impl Serialize) {
        let text = serde_json::to_string(value).expect("what is kept in private state has a JSON form");
        self.set_json(key, text);
    }

    /// Sets the JSON text of a key, which must not begin with a dot; the text is stored as it is.
    pub fn set_json(&mut self, key: impl Into<String>, text: impl Into<String>) {
        let (key, text) = (key.into(), text.into());
        assert!(!key.starts_with('.'), "a key that begins with a dot is the framework's: {key}");
        assert!(is_json(&text), "the value of private state key {key} is not JSON");
        self.keys.insert(key, text);
    }

    /// Takes a key away.
    pub fn remove(&mut self, key: &str) {
        self.keys.remove(key);
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(crate) fn mark_imported(&mut self) {
        self.keys.insert(IMPORT_BEFORE_READ.to_owned(), "true".to_owned());
    }

    /// Whether an import came just before; asking takes the mark away.
    pub(crate) fn take_imported(&mut self) -> bool {
        self.keys.remove(IMPORT_BEFORE_READ).is_some()
    }
}

/// Names the keys only.
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
    fn the_layout_is_the_frameworks() {
        let mut private = Private::default();
        assert_eq!(private.encode(), b"");
        private.set("pending_projection", &true);
        private.set_json("ownership_baseline", r#"{"spec.replicas": "kubectl"}"#);
        let bytes = private.encode();
        assert_eq!(
            String::from_utf8_lossy(&bytes),
            r#"{"ownership_baseline":"eyJzcGVjLnJlcGxpY2FzIjogImt1YmVjdGwifQ==","pending_projection":"dHJ1ZQ=="}"#
        );
        assert_eq!(Private::decode(&bytes), Ok(private));
    }

    #[test]
    fn values_are_read_as_what_they_should_be_or_not_at_all() {
        let mut private = Private::default();
        private.set("n", &7);
        assert_eq!(private.get_as::<i64>("n"), Some(7));
        assert_eq!(private.get_as::<String>("n"), None);
        assert_eq!(private.get_as::<i64>("m"), None);
        private.remove("n");
        assert!(private.is_empty());
    }

    #[test]
    fn the_mark_of_an_import_is_taken_once() {
        let mut private = Private::default();
        private.mark_imported();
        assert_eq!(String::from_utf8_lossy(&private.encode()), r#"{".import_before_read":"dHJ1ZQ=="}"#);
        let mut stored = Private::decode(&private.encode()).unwrap();
        assert!(stored.take_imported());
        assert!(!stored.take_imported());
        assert_eq!(stored.encode(), b"");
    }

    #[test]
    fn other_layouts_are_discarded_or_refused() {
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
    fn debug_output_names_keys_without_values() {
        let mut private = Private::default();
        private.set("token", &"hunter2");
        assert_eq!(format!("{private:?}"), "Private(token)");
    }
}
