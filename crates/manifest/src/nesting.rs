//! JSON of any depth: read as far as values may go, and measured without a stack.
//!
//! serde_json stops at 127 levels, which an object that was written within our own [`Limits`] may exceed.

use serde::de::DeserializeOwned;

use crate::Limits;

/// Why a JSON text cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// It is no JSON, or not of the shape asked for.
    #[error(transparent)]
    Malformed(#[from] serde_json::Error),
    /// Its collections stand deeper inside each other than values may.
    #[error("it is nested {levels} levels deep, and the limit is {}", Limits::MAX_DEPTH)]
    TooDeep {
        /// How deep.
        levels: usize,
    },
}

/// Reads a JSON text that is nested as deep as [`Limits::MAX_DEPTH`].
pub fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, JsonError> {
    // Nearly everything is shallow, and what is not costs a second look.
    serde_json::from_slice(text).or_else(|error| match json_depth(text) {
        ..128 => Err(error.into()),
        levels if levels > Limits::MAX_DEPTH => Err(JsonError::TooDeep { levels }),
        _ => {
            let mut deserializer = serde_json::Deserializer::from_slice(text);
            deserializer.disable_recursion_limit();
            let value = T::deserialize(&mut deserializer)?;
            deserializer.end()?;
            Ok(value)
        }
    })
}

/// How many collections of a JSON text stand inside each other at most. What is no JSON has a depth as well.
pub fn json_depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn nested(levels: usize) -> String {
        let (open, close) = (r#"{"a":["#, "]}");
        format!("{}1{}", open.repeat(levels / 2), close.repeat(levels / 2))
    }

    #[test]
    fn values_are_read_as_deep_as_they_may_be() {
        for levels in [2, 126, 128, 130, 256, 512] {
            let value: Value = from_json(nested(levels).as_bytes()).unwrap();
            assert_eq!(value.to_string(), nested(levels));
        }
        for levels in [514, 100_000] {
            let error = from_json::<Value>(nested(levels).as_bytes()).unwrap_err();
            let expected = format!("it is nested {levels} levels deep, and the limit is 512");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn what_is_no_json_is_refused_at_any_depth() {
        for text in ["", "{", "nonsense", "{} {}", &nested(200)[..150], &format!("{}x", nested(200))] {
            assert!(matches!(from_json::<Value>(text.as_bytes()), Err(JsonError::Malformed(_))), "{text}");
        }
    }

    #[test]
    fn brackets_in_texts_have_no_depth() {
        let check = |value: Value, depth| assert_eq!(json_depth(value.to_string().as_bytes()), depth);
        check(json!("[[["), 0);
        check(json!({ "a\"[[": "\\\"[[", "b": [] }), 2);
        check(json!([[], {}, [[{ "x": "]]]" }]]]), 4);
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_are_read_or_refused(text: Vec<u8>) {
            let _read = from_json::<Value>(&text);
            let _measured = json_depth(&text);
        }
    }
}
