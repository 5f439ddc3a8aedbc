//! Taking over from Crossplane: fields it holds by updates become ours, so that we can also remove them.
//!
//! Crossplane writes the status of an XR twice, by an apply and by an update as manager `crossplane`. A field held by
//! both stays when we stop applying it, so before our first apply the update's share is folded into ours.
//!
//! Before it used server-side apply, Crossplane wrote everything by updates, specs included. Of those, the fields our
//! first apply is about to hold are handed over.

use fields::{FieldSet, Schema, written};
use ownership::{Entry, FieldManager, Operation, hand_over_part};
use serde_json::Value;

use crate::run::Object;

/// The manager of Crossplane's updates.
const UPDATER: &str = "crossplane";

/// The JSON patch that folds what `crossplane` holds by updates of `subresource` (`status`, or empty for the object itself)
/// into what `manager` holds by applies; none if there is nothing to fold.
///
/// The API server refuses it if the object has changed since; read the object again then.
pub fn fold_updates(object: &Object, manager: &str, subresource: &str) -> Option<Value> {
    hand_over(object, manager, subresource, |entry| entry.fields.clone())
}

/// The JSON patch after which `manager` holds what `crossplane` holds by updates and `intent` writes, as if it had
/// applied it; none if there is no such field, or if `manager` has applied before. No value changes.
///
/// The API server refuses it if the object has changed since; read the object again then.
pub fn hand_over_updates(object: &Object, intent: &Object, manager: &str) -> Option<Value> {
    if has_applied(object, manager) {
        return None;
    }
    let intent = Value::Object(intent.clone());
    hand_over(object, manager, "", |entry| {
        let schema = Schema::of(&intent).learning_from(&entry.fields);
        entry.fields.intersection(&written(&intent, &schema))
    })
}

/// Whether `manager` holds something of `object` itself by an apply, so that there is nothing left to take over.
pub fn has_applied(object: &Object, manager: &str) -> bool {
    ownership::has_applied(object, &FieldManager::new(manager))
}

/// Hands `part` of what Crossplane holds by updates of `subresource` over to `manager`. An object whose managedFields
/// cannot be read is left as it is.
fn hand_over(
    object: &Object,
    manager: &str,
    subresource: &str,
    part: impl Fn(&Entry) -> FieldSet,
) -> Option<Value> {
    let (updater, manager) = (FieldManager::new(UPDATER), FieldManager::new(manager));
    let part = |entry: &Entry| {
        let is_theirs = entry.is_of(&updater, Operation::Update, subresource);
        if is_theirs { part(entry) } else { FieldSet::new() }
    };
    hand_over_part(&Value::Object(object.clone()), &manager, subresource, part).ok().flatten()
}

#[cfg(test)]
mod tests;
