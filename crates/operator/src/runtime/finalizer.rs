//! Finalizers: an object is not removed until every controller that added one has removed it.
//!
//! Each half decides when an object may be removed; here its finalizers are added, removed and checked.

use cluster::PatchType;
use manifest::ObjectRef;
use serde_json::{Map, Value, json};

use super::client::{ApiError, Object, ObjectClient};

pub(crate) fn is_present(object: &Object, finalizer: &str) -> bool {
    finalizers(object).any(|one| one == finalizer)
}

/// Whether finalizers beside `ours` keep the object.
pub(crate) fn is_held_by_others(object: &Object, ours: &str) -> bool {
    finalizers(object).any(|one| one != ours)
}

/// Adds `finalizer` to an object that is about to be written.
pub(crate) fn add(object: &mut Object, finalizer: &str) {
    if let Some(all) = changed(object, &[finalizer], true)
        && let Some(metadata) = object.entry("metadata").or_insert_with(|| json!({})).as_object_mut()
    {
        metadata.insert("finalizers".to_owned(), all.into());
    }
}

/// Adds or removes finalizers in one write, unless nothing would change; the object as it then is. A conflict if
/// `object` is not the newest version: finalizers of others that were added since would be lost.
pub(crate) async fn set(
    client: &ObjectClient,
    object: &Object,
    ours: &[&str],
    present: bool,
    manager: &str,
) -> Result<Option<Object>, ApiError> {
    let Some(all) = changed(object, ours, present) else { return Ok(None) };
    if !present && !all.is_empty() {
        // The first thing to look for when an object does not go away.
        let object = ObjectRef::of(object)?.to_string();
        tracing::info!(object, remaining = ?all, "finalized; other controllers still hold the object");
    }
    let version = object.get("metadata").and_then(|metadata| metadata.get("resourceVersion"));
    let patch = json!({"metadata": {"resourceVersion": version, "finalizers": all}});
    client.patch(object, PatchType::Merge, &patch, manager).await.map(Some)
}

/// The finalizers of `object` with or without `ours`; `None` if that is what it has.
fn changed(object: &Object, ours: &[&str], present: bool) -> Option<Vec<String>> {
    let before: Vec<&str> = finalizers(object).collect();
    let missing = ours.iter().copied().filter(|name| present && !before.contains(name));
    let kept = before.iter().copied().filter(|name| present || !ours.contains(name));
    let after: Vec<&str> = kept.chain(missing).collect();
    (after != before).then(|| after.into_iter().map(str::to_owned).collect())
}

fn finalizers(object: &Object) -> impl Iterator<Item = &str> {
    let metadata = object.get("metadata").and_then(Value::as_object);
    let finalizers = metadata.and_then(|metadata: &Map<_, _>| metadata.get("finalizers")?.as_array());
    finalizers.into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests;
