//! Taking over from the reference engine: fields it holds by updates become ours, so that we can also remove them.
//!
//! The reference writes the status of an XR twice, by an apply and by an update as manager `crossplane`. A field held by
//! both stays when we stop applying it, so before our first apply the update's share is folded into ours.
//!
//! Before it knew server-side apply it wrote everything by updates, specs included. Of those, what our first apply is about to
//! hold is handed over.

use fields::{FieldSet, Schema, written};
use serde_json::{Value, json};

use crate::object;
use crate::run::Object;

/// The manager of the reference's updates.
const UPDATER: &str = "crossplane";

/// The JSON patch that folds what `crossplane` holds by updates of `subresource` (`status`, or empty for the object itself)
/// into what `manager` holds by applies; none if there is nothing to fold.
///
/// It is refused if the object has changed meanwhile, and then to be made anew.
pub fn fold_updates(object: &Object, manager: &str, subresource: &str) -> Option<Value> {
    let entries = object::nested(object, &["metadata", "managedFields"])?.as_array()?;
    let (theirs, mut kept): (Vec<Value>, Vec<Value>) =
        entries.iter().cloned().partition(|entry| is_share_of(entry, UPDATER, "Update", subresource));
    let (first, rest) = theirs.split_first()?;
    let mut ours =
        if let Some(at) = kept.iter().position(|entry| is_share_of(entry, manager, "Apply", subresource)) {
            kept.remove(at)
        } else {
            let mut entry = first.clone();
            entry["manager"] = manager.into();
            entry["operation"] = "Apply".into();
            entry
        };
    for entry in std::iter::once(first).chain(rest) {
        union(&mut ours["fieldsV1"], entry.get("fieldsV1").unwrap_or(&Value::Null));
    }
    kept.push(ours);
    patch(object, &kept)
}

/// The JSON patch after which what `crossplane` holds by updates and `intent` writes is held by `manager` as if it had
/// applied it; none if there is no such field, or if `manager` has applied before. No value changes.
///
/// It is refused if the object has changed meanwhile, and then to be made anew.
pub fn hand_over_updates(object: &Object, intent: &Object, manager: &str) -> Option<Value> {
    if has_applied(object, manager) {
        return None;
    }
    let entries = object::nested(object, &["metadata", "managedFields"])?.as_array()?;
    let at = entries.iter().position(|entry| is_share_of(entry, UPDATER, "Update", ""))?;
    let held = FieldSet::from_value(entries[at].get("fieldsV1")?).ok()?;
    let intent = Value::Object(intent.clone());
    let schema = Schema::of(&intent).learning_from(&held);
    let wanted = written(&intent, &schema);
    let (ours, theirs) = (held.intersection(&wanted), held.difference(&wanted));
    if ours.is_empty() {
        return None;
    }
    let mut kept = entries.clone();
    let mut applied = kept.remove(at);
    if !theirs.is_empty() {
        let mut rest = applied.clone();
        rest["fieldsV1"] = theirs.to_value();
        kept.insert(at, rest);
    }
    applied["manager"] = manager.into();
    applied["operation"] = "Apply".into();
    applied["fieldsV1"] = ours.to_value();
    kept.push(applied);
    patch(object, &kept)
}

/// Whether `manager` holds something of `object`, itself and not its status, by an apply.
pub fn has_applied(object: &Object, manager: &str) -> bool {
    let entries = object::nested(object, &["metadata", "managedFields"]).and_then(Value::as_array);
    entries.into_iter().flatten().any(|entry| is_share_of(entry, manager, "Apply", ""))
}

/// Whether an entry of managedFields says what `manager` holds by `operation`.
pub(crate) fn is_share_of(entry: &Value, manager: &str, operation: &str, subresource: &str) -> bool {
    let part = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    part("manager") == manager && part("operation") == operation && part("subresource") == subresource
}

fn patch(object: &Object, entries: &[Value]) -> Option<Value> {
    let version = object::nested(object, &["metadata", "resourceVersion"])?;
    Some(json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": version},
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
    ]))
}

/// Adds the fields of `from` to those of `into`; in FieldsV1 a field set is a tree of objects.
fn union(into: &mut Value, from: &Value) {
    let Value::Object(from) = from else { return };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, below) in from {
        union(&mut into[key], below);
    }
}

#[cfg(test)]
mod tests;
