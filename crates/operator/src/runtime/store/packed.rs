//! An object as a store keeps it: its JSON as text, which takes a fraction of the memory of a tree of maps.
//!
//! Readers of a store write whole objects back, labels and annotations of other managers included, so hardly a field can be
//! dropped; but at any time nearly all objects are at rest. A reader gets a tree of its own for as long as it works on it.

use std::sync::Arc;

use serde_json::Value;

use super::objects::{uid, version};

/// Clones share the text.
#[derive(Clone)]
pub(super) struct Packed(Arc<Content>);

struct Content {
    uid: Option<Box<str>>,
    version: Option<Box<str>>,
    text: Box<[u8]>,
}

impl Packed {
    pub(super) fn new(object: &Value) -> Self {
        let text = serde_json::to_vec(object).expect("a JSON value has a text").into_boxed_slice();
        let (uid, version) = (uid(object).map(Box::from), version(object).map(Box::from));
        Self(Arc::new(Content { uid, version, text }))
    }

    pub(super) fn unpack(&self) -> Value {
        serde_json::from_slice(&self.0.text).expect("it is the text of a JSON value")
    }

    /// The bytes of the text.
    pub(super) fn size(&self) -> usize {
        self.0.text.len()
    }

    pub(super) fn uid(&self) -> Option<&str> {
        self.0.uid.as_deref()
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.0.version.as_deref()
    }

    /// Whether the text is the same.
    pub(super) fn has_content_of(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }

    /// The version, if it is a number.
    pub(super) fn number(&self) -> Option<u64> {
        self.version()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_the_same_after_it_was_kept() {
        let object = json!({
            "metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {"ratio": 0.1, "large": 1e300, "count": -3, "max": u64::MAX},
        });
        let packed = Packed::new(&object);
        assert_eq!(packed.unpack(), object);
        assert_eq!((packed.uid(), packed.version(), packed.number()), (Some("u"), Some("7"), Some(7)));
    }
}
