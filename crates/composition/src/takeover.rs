//! Takes over from Crossplane: fields it holds by updates become ours, so that we can also remove them.
//!
//! Crossplane writes the status of an XR twice, by an apply and by an update as manager `crossplane`. A field held by
//! both stays when we stop applying it, so before our first apply the update's share is folded into ours.
//!
//! Before it used server-side apply, Crossplane wrote everything by updates, specs included. Of those, the fields our
//! first apply is about to hold are handed over.

use fields::FieldSet;
use ownership::{Entry, FieldManager, Handover, Observed, Operation};
use serde_json::Value;

use crate::protocol::Object;

/// The manager of Crossplane's updates.
const UPDATER: &str = "crossplane";

/// The JSON patch that folds what `crossplane` holds by updates of `subresource` (`status`, or empty for the object itself)
/// into what `manager` holds by applies; none if there is nothing to fold.
///
/// The API server refuses it if the object has changed since; read the object again then.
pub fn fold_updates(object: &Object, manager: &str, subresource: &str) -> Option<Value> {
    hand_over(object, manager, subresource, |_, held| held.clone())
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
    hand_over(object, manager, "", |live, held| held.intersection(&fields::written(&intent, live.schema())))
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
    part: impl Fn(&Observed, &FieldSet) -> FieldSet,
) -> Option<Value> {
    let live = Observed::new(Value::Object(object.clone())).ok()?;
    let updater = FieldManager::new(UPDATER);
    let part = |entry: &Entry| {
        let is_theirs = entry.is_of(&updater, Operation::Update, subresource);
        is_theirs.then(|| part(&live, &entry.fields))
    };
    let handover = Handover::of(&live).hand_over(&FieldManager::new(manager), subresource, part);
    handover.patch().map(Value::Array)
}

#[cfg(test)]
mod tests;
