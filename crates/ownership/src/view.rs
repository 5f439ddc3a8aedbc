//! An object as ownership compares it: Secrets in their stored form and masked, so that no value can leak from here.

use std::borrow::Cow;

use fields::{FieldPath, FieldSet, Leaf, PathElement, Schema};
use manifest::secret::{self, MaskKey};
use serde_json::Value;

pub(crate) struct View<'a> {
    pub(crate) object: Cow<'a, Value>,
    key: &'a MaskKey,
}

impl<'a> View<'a> {
    pub(crate) fn of(object: &'a Value, key: &'a MaskKey) -> Self {
        if !secret::is_secret(object) {
            return Self { object: Cow::Borrowed(object), key };
        }
        let mut stored = object.clone();
        secret::normalise(&mut stored);
        // The mask depends on the namespace, and a body without one means `default`.
        if let Some(metadata) = stored.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.entry("namespace").or_insert_with(|| "default".into());
        }
        Self { object: Cow::Owned(secret::masked(&stored, key)), key }
    }

    /// The text that the Go provider stored of the value at `path`, masked like the values of this object.
    pub(crate) fn masked_text(&self, path: &FieldPath, text: &str) -> String {
        let names: Option<Vec<&str>> = path.elements().iter().map(PathElement::as_field).collect();
        match names.as_deref() {
            Some(["data", key]) if secret::is_secret(&self.object) && !secret::is_mask(text) => {
                let metadata = |field: &str| self.object["metadata"][field].as_str().unwrap_or_default();
                self.key.mask(metadata("namespace"), metadata("name"), key, text)
            }
            _ => text.to_owned(),
        }
    }

    /// For every path of `universe`, in order, its value.
    pub(crate) fn column<'v>(
        &'v self,
        universe: &FieldSet,
        schema: &Schema,
    ) -> impl Iterator<Item = Option<Leaf<'v>>> + use<'v, 'a> {
        fields::leaf_columns([&self.object], universe, schema).into_iter().map(|[value]| value)
    }

    /// The fields it writes that a manager can hold: everything but the object's identity.
    pub(crate) fn fields(&self, schema: &Schema) -> FieldSet {
        let mut fields = fields::written(&self.object, schema).leaves();
        for path in fields::identity().paths() {
            fields.remove(&path);
        }
        fields
    }
}
