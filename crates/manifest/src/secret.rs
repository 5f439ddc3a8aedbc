//! Secrets: one way to write a value, and one way to show it.
//!
//! `stringData` is a convenience of the API server: what is written there is stored in `data`, and a change of `data`
//! is invisible at the written path. So a body is brought into the stored form before it is sent, projected or compared,
//! and its values are only ever shown masked.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether `object` is a v1 Secret.
pub fn is_secret(object: &Value) -> bool {
    object["apiVersion"] == "v1" && object["kind"] == "Secret"
}

/// Moves what a Secret writes under `stringData` to `data`, where it wins over what stands there, as in the API server.
///
/// Other objects stay as they are, and so does a value that is no string: the API server says best what is wrong with it.
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

/// What is shown in place of the value of `key`: the same for the same value of the same Secret, and useless elsewhere.
pub fn mask(namespace: &str, name: &str, key: &str, value: &str) -> String {
    let digest = Sha256::digest(format!("{namespace}/{name}/{key}\0{value}"));
    let [a, b, c, d, ..] = digest[..] else { unreachable!("SHA-256 has 32 bytes") };
    format!("(sensitive sha256:{a:02x}{b:02x}{c:02x}{d:02x})")
}

/// A copy of `object` whose Secret values are masked, including those written where they do not belong.
pub fn masked(object: &Value) -> Value {
    let mut object = object.clone();
    if is_secret(&object) {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        for part in ["data", "stringData"] {
            match object.get_mut(part) {
                Some(Value::Object(values)) => {
                    for (key, value) in values {
                        *value = mask(&namespace, &name, key, &plain(value)).into();
                    }
                }
                Some(other) => *other = mask(&namespace, &name, part, &plain(other)).into(),
                None => {}
            }
        }
        // kubectl keeps a copy of the whole manifest here, values included.
        let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        if let Some(copy) = annotations.and_then(|annotations| annotations.get_mut(LAST_APPLIED)) {
            *copy = mask(&namespace, &name, LAST_APPLIED, &plain(copy)).into();
        }
    }
    object
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
        assert_eq!(masked(&object), before);
    }

    #[test]
    fn a_mask_tells_values_apart_and_nothing_more() {
        assert_eq!(mask("shop", "db", "password", "aHVudGVyMg=="), "(sensitive sha256:6afc38ad)");
        assert_ne!(mask("shop", "db", "password", "a"), mask("shop", "db", "password", "b"));
        assert_ne!(mask("shop", "db", "password", "a"), mask("shop", "cache", "password", "a"));
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
            let shown = masked(&secret(&written)).to_string();
            assert!(!shown.contains("aHVudGVyMg") && shown.contains("(sensitive sha256:"), "{shown}");
        }
    }
}
