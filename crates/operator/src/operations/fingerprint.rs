//! Which changes of an object call for a reconcile.

use std::collections::BTreeMap;

use serde_json::Value;

use super::reconcile::FINALIZER;
use crate::runtime::finalizer;

/// The prefix of all our annotations.
const PREFIX: &str = "plimsoll.dev/";

/// What users change about an object. Status and finalizers are not part of it: our own writes must not cause the next
/// reconcile, or no requeue would ever wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    uid: String,
    generation: Option<i64>,
    is_deleting: bool,
    annotations: BTreeMap<String, String>,
}

impl Fingerprint {
    pub(super) fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let annotations = metadata["annotations"].as_object().into_iter().flatten();
        Self {
            uid: metadata["uid"].as_str().unwrap_or_default().to_owned(),
            generation: metadata["generation"].as_i64(),
            is_deleting: is_deleting(object),
            annotations: annotations
                .filter(|(name, _)| name.starts_with(PREFIX))
                .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
                .collect(),
        }
    }

    pub(super) fn uid(&self) -> &str {
        &self.uid
    }
}

/// Trims an object to its names and what its fingerprint needs. A reconcile reads the object again, so thousands of them
/// need little memory, and no decision is made on an old version.
pub(super) fn keep_identity(object: &mut Value) {
    const KEPT: &[&str] = &[
        "annotations",
        "deletionTimestamp",
        "finalizers",
        "generation",
        "name",
        "namespace",
        "resourceVersion",
        "uid",
    ];
    let Some(fields) = object.as_object_mut() else { return };
    fields.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
    if let Some(status) = fields.get_mut("status").and_then(Value::as_object_mut) {
        status.retain(|name, _| name == "observedGeneration");
    }
    let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.retain(|name, _| KEPT.contains(&name.as_str()));
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| name.starts_with(PREFIX));
    }
}

/// Whether what the user asks for was taken up already, by this operator or by one before it.
pub(super) fn is_observed(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let observed = &object["status"]["observedGeneration"];
    !is_deleting(object) && observed.is_i64() && *observed == metadata["generation"]
}

pub(super) fn has_finalizer(object: &Value) -> bool {
    object.as_object().is_some_and(|object| finalizer::is_present(object, FINALIZER))
}

pub(super) fn is_deleting(object: &Value) -> bool {
    object.as_object().is_some_and(composition::object::is_being_deleted)
}

#[cfg(test)]
mod tests;
