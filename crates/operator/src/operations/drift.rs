//! Compares a spec with what the service returned, field by field: only fields that the spec sets are compared, and only
//! those that differ are sent.

use operations::{Drift, OWNER_TAG};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::response::tag_value;
use crate::api::{DefinedTags, FreeformTags};

pub(super) struct Comparison<'a> {
    shown: &'a Value,
    fixed: Vec<String>,
    changes: Map<String, Value>,
}

impl<'a> Comparison<'a> {
    pub(super) fn with(shown: &'a Value) -> Self {
        Self { shown, fixed: Vec::new(), changes: Map::new() }
    }

    /// A field that cannot change after the create. It is ignored if the service does not return it.
    pub(super) fn fixed(&mut self, name: &str, wanted: Option<impl Into<Value>>) {
        if let (Some(wanted), Some(shown)) = (wanted, self.shown.get(name))
            && !same(&wanted.into(), shown)
        {
            self.fixed.push(name.to_owned());
        }
    }

    /// A field that an update can change.
    pub(super) fn changeable(&mut self, name: &str, wanted: Option<impl Into<Value>>) {
        if let Some(wanted) = wanted.map(Into::into)
            && !self.shown.get(name).is_some_and(|shown| same(&wanted, shown))
        {
            self.change(name, wanted);
        }
    }

    /// A field that the kind compares itself.
    pub(super) fn change(&mut self, name: &str, value: Value) {
        self.changes.insert(name.to_owned(), value);
    }

    /// An update replaces all tags, so those that others have set are sent too; the owner tag is never removed.
    ///
    /// A resource with another owner's tag gets ours. Whether it may be adopted is decided before.
    pub(super) fn tags(
        &mut self,
        freeform: Option<&FreeformTags>,
        defined: Option<&DefinedTags>,
        owner: &str,
    ) {
        let shown = self.object("freeformTags");
        let mut merged = shown.clone();
        let wanted = freeform.into_iter().flatten().filter(|(key, _)| *key != OWNER_TAG);
        merged.extend(wanted.map(|(key, value)| (key.clone(), json!(value))));
        if let Some(tag) = merged.get_mut(OWNER_TAG) {
            *tag = json!(owner);
        }
        if merged != shown {
            self.change("freeformTags", merged.into());
        }
        let shown = self.object("definedTags");
        let mut merged = shown.clone();
        for (namespace, tags) in defined.into_iter().flatten() {
            for (key, value) in tags {
                let Some(below) = slot(&mut merged, namespace, json!({})).as_object_mut() else { continue };
                let tag = slot(below, key, Value::Null);
                if tag_value(tag).as_ref() != Some(value) {
                    *tag = json!(value);
                }
            }
        }
        if merged != shown {
            self.change("definedTags", merged.into());
        }
    }

    fn object(&self, name: &str) -> Map<String, Value> {
        self.shown.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
    }

    pub(super) fn drift(self) -> Drift {
        if !self.fixed.is_empty() {
            Drift::Immutable(self.fixed)
        } else if self.changes.is_empty() {
            Drift::None
        } else {
            Drift::Update(self.changes.into())
        }
    }
}

/// The body of a create: the spec without what is empty, with the owner's tag.
pub(super) fn create_body(
    spec: &impl Serialize,
    freeform: Option<&FreeformTags>,
    owner: &str,
) -> Map<String, Value> {
    let Ok(Value::Object(mut body)) = serde_json::to_value(spec) else {
        unreachable!("a spec is a JSON object")
    };
    let is_empty = |value: &Value| *value == json!("") || *value == json!([]) || *value == json!({});
    body.retain(|_, value| !is_empty(value));
    let mut tags = freeform.cloned().unwrap_or_default();
    tags.insert(OWNER_TAG.to_owned(), owner.to_owned());
    body.insert("freeformTags".to_owned(), json!(tags));
    body
}

/// Whether a service treats two values as the same, as it does 30 and 30.0.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other).is_eq(),
        _ => one == other,
    }
}

/// The entry under `name`. Namespaces and keys of defined tags are case-insensitive, and keep the service's spelling.
fn slot<'m>(map: &'m mut Map<String, Value>, name: &str, otherwise: Value) -> &'m mut Value {
    let known = map.keys().find(|known| known.eq_ignore_ascii_case(name)).cloned();
    map.entry(known.unwrap_or_else(|| name.to_owned())).or_insert(otherwise)
}
