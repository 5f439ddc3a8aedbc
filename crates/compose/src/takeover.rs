//! Taking over from the reference engine: fields it holds by updates become ours, so that we can also remove them.
//!
//! The reference writes the status of an XR twice, by an apply and by an update as manager `crossplane`. A field held by
//! both stays when we stop applying it, so before our first apply the update's share is folded into ours.

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
    let is = |entry: &Value, name: &str, operation: &str| {
        let part = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        part("manager") == name && part("operation") == operation && part("subresource") == subresource
    };
    let (theirs, mut kept): (Vec<Value>, Vec<Value>) =
        entries.iter().cloned().partition(|entry| is(entry, UPDATER, "Update"));
    let (first, rest) = theirs.split_first()?;
    let mut ours = if let Some(at) = kept.iter().position(|entry| is(entry, manager, "Apply")) {
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
    let version = object::nested(object, &["metadata", "resourceVersion"])?;
    Some(json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": version},
        {"op": "replace", "path": "/metadata/managedFields", "value": kept},
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
