//! Secrets: one way to write a value, and one way to show it.
//!
//! `stringData` is a convenience of the API server: what is written there is stored in `data`, and a change of `data`
//! is invisible at the written path. So a body is brought into the stored form before it is sent, projected or compared,
//! and its values are only ever shown masked.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, Mac as _};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const MASK: &str = "(sensitive hmac:";
const FORMER_MASK: &str = "(sensitive sha256:";

/// Whether `object` is a v1 Secret.
pub fn is_secret(object: &Value) -> bool {
    object["apiVersion"] == "v1" && object["kind"] == "Secret"
}

/// The data of a Secret by name, decoded. A value that is not base64 is left out.
pub fn decoded(secret: &Map<String, Value>) -> impl Iterator<Item = (&String, Vec<u8>)> {
    let data = secret.get("data").and_then(Value::as_object).into_iter().flatten();
    data.filter_map(|(name, value)| Some((name, BASE64_STANDARD.decode(value.as_str()?).ok()?)))
}

/// One entry of a Secret's data, decoded.
pub fn decoded_entry(secret: &Map<String, Value>, name: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(secret.get("data")?.get(name)?.as_str()?).ok()
}

/// The entries of a Secret's data that are not base64, as Go reads it. The API server refuses them without naming them.
pub fn undecodable(object: &Value) -> Vec<&str> {
    let data = object["data"].as_object().filter(|_| is_secret(object)).into_iter().flatten();
    let is_base64 = |text: &str| BASE64_STANDARD.decode(text.replace(['\r', '\n'], "")).is_ok();
    let wrong = data.filter(|(_, value)| value.as_str().is_some_and(|text| !is_base64(text)));
    wrong.map(|(name, _)| name.as_str()).collect()
}

/// Bytes as a Secret has them.
pub fn encoded(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// Moves what a Secret writes under `stringData` to `data`, where it wins over what stands there, as in the API server.
///
/// Other objects stay as they are, and so does a value that is not a string: the API server says best what is wrong with it.
pub fn normalise(object: &mut Value) {
    if !is_secret(object) {
        return;
    }
    let Some(Value::Object(plain)) = object.get_mut("stringData").map(Value::take) else { return };
    let mut left = Map::new();
    for (key, value) in plain {
        match (value, &mut object["data"]) {
            (Value::String(text), data @ (Value::Null | Value::Object(_))) => {
                data[key] = BASE64_STANDARD.encode(text).into();
            }
            (value, _) => _ = left.insert(key, value),
        }
    }
    let fields = object.as_object_mut().expect("a Secret is an object");
    if fields.get("data").is_some_and(Value::is_null) {
        fields.remove("data");
    }
    if left.is_empty() {
        fields.remove("stringData");
    } else {
        fields.insert("stringData".to_owned(), Value::Object(left));
    }
}

/// The key of masks: random for each resource or each run, so that a mask in a log
/// cannot be compared with guesses of the value.
#[derive(Clone, PartialEq, Eq)]
pub struct MaskKey(Option<u128>);

impl MaskKey {
    /// No key: `(sensitive sha256:…)`, as version 0.1 stored masks. Only for comparison with those.
    pub const FORMER: Self = Self(None);

    /// `random` must come from the system's random numbers.
    pub const fn new(random: u128) -> Self {
        Self(Some(random))
    }

    /// The random number, to be stored where its masks are.
    pub const fn random(&self) -> Option<u128> {
        self.0
    }

    /// A hash of `text` that cannot be compared with guesses without the key.
    pub fn digest(&self, text: &str) -> u64 {
        let digest = self.mac(text);
        u64::from_be_bytes(digest[..8].try_into().expect("SHA-256 has 32 bytes"))
    }

    fn mac(&self, text: &str) -> [u8; 32] {
        let Some(random) = self.0 else { return Sha256::digest(text).into() };
        let mac = Hmac::<Sha256>::new_from_slice(&random.to_be_bytes());
        mac.expect("HMAC takes keys of any length").chain_update(text).finalize().into_bytes().into()
    }

    /// What is shown in place of the value of `key`: the same for the same value of the same Secret, and useless
    /// elsewhere.
    pub fn mask(&self, namespace: &str, name: &str, key: &str, value: &str) -> String {
        let text = format!("{namespace}/{name}/{key}\0{value}");
        let form = if self.0.is_none() { FORMER_MASK } else { MASK };
        let [a, b, c, d, ..] = self.mac(&text);
        format!("{form}{a:02x}{b:02x}{c:02x}{d:02x})")
    }
}

/// Omits the key.
impl fmt::Debug for MaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MaskKey(…)")
    }
}

/// Whether `text` is a mask, with a key or in the form of version 0.1.
pub fn is_mask(text: &str) -> bool {
    text.starts_with(MASK) || is_former_mask(text)
}

/// Whether `text` is a mask without a key, in the form of version 0.1.
pub fn is_former_mask(text: &str) -> bool {
    text.starts_with(FORMER_MASK)
}

/// A copy of `object` whose Secret values are masked, including those written where they do not belong.
pub fn masked(object: &Value, key: &MaskKey) -> Value {
    let mut object = object.clone();
    if is_secret(&object) {
        mask_secret(&mut object, key);
    }
    object
}

/// The same, with every Secret that is somewhere within it, as a template or the context of a pipeline may contain one.
pub fn masked_within(value: &Value, key: &MaskKey) -> Value {
    let mut value = value.clone();
    mask_within(&mut value, key);
    value
}

fn mask_within(value: &mut Value, key: &MaskKey) {
    match value {
        Value::Object(fields) => {
            // Templates of operators leave the version out.
            let is_core = fields.get("apiVersion").is_none_or(|version| version == "v1");
            if is_core && fields.get("kind").is_some_and(|kind| kind == "Secret") {
                mask_secret(value, key);
            } else {
                fields.values_mut().for_each(|value| mask_within(value, key));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask_within(item, key)),
        // Most texts are not even read.
        Value::String(text)
            if text.trim_start().starts_with('{') && text.contains("\"Secret\"") && is_json_copy(text) =>
        {
            *text = key.mask("", "", "", text);
        }
        _ => {}
    }
}

/// Masks the values of a Secret, including those written where they do not belong.
fn mask_secret(object: &mut Value, key: &MaskKey) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let (namespace, name) = (text("namespace"), text("name"));
    let mask = |field: &str, value: &Value| Value::String(key.mask(&namespace, &name, field, &plain(value)));
    for part in ["data", "stringData"] {
        match object.get_mut(part) {
            Some(Value::Object(values)) => {
                for (field, value) in values {
                    *value = mask(field, value);
                }
            }
            Some(other) => *other = mask(part, other),
            None => {}
        }
    }
    // Here kubectl keeps a copy of the whole manifest, values included, and so do other tools.
    let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    for (name, value) in annotations.into_iter().flatten() {
        if name == LAST_APPLIED || is_copy(value) {
            *value = mask(name, value);
        }
    }
}

/// Whether a value is a Secret as JSON.
fn is_copy(value: &Value) -> bool {
    value.as_str().is_some_and(is_json_copy)
}

fn is_json_copy(text: &str) -> bool {
    let copy = serde_json::from_str::<Value>(text);
    copy.is_ok_and(|copy| copy.get("data").is_some() || copy.get("stringData").is_some())
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret(parts: &Value) -> Value {
        let mut object = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "db", "namespace": "shop" } });
        object.as_object_mut().unwrap().extend(parts.as_object().unwrap().clone());
        object
    }

    #[test]
    fn entries_that_are_not_base64_are_named() {
        let data =
            json!({ "good": "aGk=", "folded": "aG\nk=\n", "empty": "", "bad": "not base64!", "number": 1 });
        let check = |kind: &str, expected: &[&str]| {
            let object = json!({ "apiVersion": "v1", "kind": kind, "data": data });
            assert_eq!(undecodable(&object), expected);
        };
        check("Secret", &["bad"]);
        check("ConfigMap", &[]);
    }

    #[test]
    fn copies_of_a_secret_in_annotations_are_masked() {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "db", "annotations": {
                "kapp.k14s.io/original": r#"{"stringData":{"a":"hunter2"}}"#,
                "example.org/note": r#"{"owner":"shop"}"#,
            } },
        });
        let masked = masked(&secret, &MaskKey::FORMER);
        let annotations = &masked["metadata"]["annotations"];
        assert!(!masked.to_string().contains("hunter2"), "{masked}");
        assert_eq!(annotations["example.org/note"], r#"{"owner":"shop"}"#);
    }

    #[test]
    fn secrets_within_are_masked_too() {
        let check = |value: &Value| {
            let shown = masked_within(value, &MaskKey::new(7)).to_string();
            assert!(!shown.contains("hunter2") && shown.contains("(sensitive hmac:"), "{shown}");
            assert!(shown.contains("shown"), "{shown}");
        };
        let nested = secret(&json!({ "stringData": { "k": "hunter2" }, "type": "shown" }));
        check(&nested);
        check(&json!({ "example.org/secrets": [nested] }));
        check(&json!({ "spec": { "forProvider": { "manifest": nested } } }));
        check(&json!({ "template": { "kind": "Secret", "data": { "k": "hunter2" }, "type": "shown" } }));
        check(&json!({ "copy": nested.to_string(), "other": "shown" }));
        let other =
            json!({ "a": { "apiVersion": "example.org/v1", "kind": "Secret", "data": { "k": "v" } } });
        assert_eq!(masked_within(&other, &MaskKey::new(7)), other);
    }

    #[test]
    fn string_data_becomes_data() {
        let check = |written: Value, expected: Value| {
            let mut object = secret(&written);
            normalise(&mut object);
            assert_eq!(object, secret(&expected), "{written}");
        };
        check(json!({ "stringData": { "k": "v" } }), json!({ "data": { "k": "dg==" } }));
        check(
            json!({ "data": { "k": "b2xk", "other": "eA==" }, "stringData": { "k": "v" } }),
            json!({ "data": { "k": "dg==", "other": "eA==" } }),
        );
        check(json!({ "data": null, "stringData": { "k": "v" } }), json!({ "data": { "k": "dg==" } }));
        check(json!({ "stringData": {} }), json!({}));
        check(json!({ "stringData": { "k": 5 } }), json!({ "stringData": { "k": 5 } }));
        check(
            json!({ "data": "odd", "stringData": { "k": "v" } }),
            json!({ "data": "odd", "stringData": { "k": "v" } }),
        );
    }

    #[test]
    fn other_kinds_keep_their_string_data() {
        let mut object =
            json!({ "apiVersion": "example.org/v1", "kind": "Secret", "stringData": { "k": "v" } });
        let before = object.clone();
        normalise(&mut object);
        assert_eq!(object, before);
        assert_eq!(masked(&object, &MaskKey::new(7)), before);
    }

    #[test]
    fn a_mask_tells_values_apart_and_nothing_more() {
        let mask = |key: &MaskKey, name: &str, value: &str| key.mask("shop", name, "password", value);
        let keys = [MaskKey::FORMER, MaskKey::new(7)];
        assert_eq!(mask(&keys[0], "db", "aHVudGVyMg=="), "(sensitive sha256:6afc38ad)");
        assert_eq!(mask(&keys[1], "db", "aHVudGVyMg=="), "(sensitive hmac:bdea57d8)");
        assert_ne!(mask(&keys[1], "db", "a"), mask(&MaskKey::new(8), "db", "a"));
        for key in keys {
            assert_ne!(mask(&key, "db", "a"), mask(&key, "db", "b"));
            assert_ne!(mask(&key, "db", "a"), mask(&key, "cache", "a"));
            assert!(is_mask(&mask(&key, "db", "a")));
        }
    }

    #[test]
    fn nothing_of_a_secret_is_left_in_a_masked_copy() {
        for written in [
            json!({ "data": { "k": "aHVudGVyMg==" } }),
            json!({ "stringData": { "k": "aHVudGVyMg==" } }),
            json!({ "data": "aHVudGVyMg==" }),
            json!({ "data": { "k": { "deep": "aHVudGVyMg==" } } }),
            json!({ "metadata": { "annotations": { LAST_APPLIED: "{\"data\":{\"k\":\"aHVudGVyMg==\"}}" } } }),
        ] {
            let shown = masked(&secret(&written), &MaskKey::new(7)).to_string();
            assert!(!shown.contains("aHVudGVyMg") && shown.contains("(sensitive hmac:"), "{shown}");
        }
    }
}
