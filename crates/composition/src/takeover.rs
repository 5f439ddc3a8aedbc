//! Takes over from Crossplane: fields it holds by updates become ours, so that we can also remove them.
//!
//! Crossplane writes the status of an XR twice, by an apply and by an update as manager `crossplane`. A field held by
//! both stays when we stop applying it, so before our first apply the update's share is folded into ours.
//!
//! Before it used server-side apply, Crossplane wrote everything by updates, specs included. Of those, the fields our
//! first apply is about to hold are handed over.
//!
//! A manager of updates is called as its program is, and programs are renamed. So updates are also recognised by what only an engine
//! writes: its condition on an XR, its name for a composed resource, the reference to the claim, and the owner of what it creates.

use fields::FieldSet;
use ownership::{Entry, FieldManager, Handover, Observed, Operation};
use serde_json::{Value, json};

use crate::condition::SYNCED;
use crate::naming::{ANNOTATION_RESOURCE_NAME, LABEL_CLAIM_NAME};
use crate::object;
use crate::protocol::Object;

/// The manager of Crossplane's updates, unless its program has another name.
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
    let marks = marks(object);
    let is_theirs = |entry: &Entry| {
        let is_update = entry.is_of(&entry.manager, Operation::Update, subresource);
        let is_named = entry.manager == FieldManager::new(UPDATER);
        is_update && (is_named || !entry.fields.intersection(&marks).is_empty())
    };
    let part = |entry: &Entry| is_theirs(entry).then(|| part(&live, &entry.fields));
    let handover = Handover::of(&live).hand_over(&FieldManager::new(manager), subresource, part);
    handover.patch().map(Value::Array)
}

/// What only an engine writes to `object`.
fn marks(object: &Object) -> FieldSet {
    let condition = format!("k:{}", json!({"type": SYNCED}));
    let label = format!("f:{LABEL_CLAIM_NAME}");
    let annotation = format!("f:{ANNOTATION_RESOURCE_NAME}");
    let mut metadata = json!({"f:labels": {label: {}}, "f:annotations": {annotation: {}}});
    if let Some(controller) = object::controller(object) {
        let owner = format!("k:{}", json!({"uid": controller.uid}));
        metadata["f:ownerReferences"] = json!({owner: {}});
    }
    let marks = json!({
        "f:metadata": metadata,
        "f:spec": {"f:claimRef": {}},
        "f:status": {"f:conditions": {condition: {}}},
    });
    FieldSet::from_value(&marks).unwrap_or_default()
}

#[cfg(test)]
mod tests;
