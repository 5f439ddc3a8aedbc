//! A claim and its XR: which fields are propagated which way, and what the user of the claim sees.

pub mod successor;

use jiff::Timestamp;
use manifest::{IdentityError, Namespace, ObjectRef};
use serde_json::{Value, json};

use crate::composite::{Composite, Layout, UpdatePolicy};
use crate::condition::{Condition, Conditions, READY, is_system};
use crate::health;
use crate::naming::{ANNOTATION_EXTERNAL_NAME, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE};
use crate::object;
use crate::protocol::{ConditionStatus, Object};
use crate::readiness::{UNREADY, reconcile_success};
use crate::status::{ENGINE_FIELDS, retired};

/// Fields of a claim's spec that stay with the claim: its own and those only the engine may write on an XR.
///
/// Otherwise a claim whose schema preserves unknown fields could write `resourceRefs` through us and make us delete or
/// adopt any object. `compositionRevisionRef` and `compositionRef` have rules of their own.
const NOT_PROPAGATED: [&str; 5] =
    ["compositeDeletePolicy", "resourceRef", "writeConnectionSecretToRef", "resourceRefs", "claimRef"];

/// Why a claim cannot be synced with its XR.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// It has no kind or no name, which cannot happen to a claim from an API server.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("claim spec was not an object")]
    Spec,
    #[error("composite resource status was not an object")]
    Status,
    /// The XR serves another claim, and a person has to decide which one it belongs to.
    #[error(
        "refusing to operate on composite resource {composite:?} that is not bound to this claim: bound to claim \
         {claim:?}"
    )]
    BoundElsewhere {
        composite: String,
        /// The claim it serves.
        claim: String,
    },
}

/// What makes a claim and its XR agree: first the claim is updated, then the XR applied.
///
/// The claim comes first and only if it is not stale, so that no XR can exist without a reference to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sync {
    /// The whole claim after the sync.
    pub claim: Object,
    /// Whether that differs from the claim as read; if not, it is not written.
    pub claim_changed: bool,
    /// The apply of the XR.
    pub composite: Object,
}

/// The name of the XR the claim is bound to, if it has one.
pub fn composite_name(claim: &Object) -> Option<&str> {
    object::text(claim, &["spec", "resourceRef", "name"])
}

/// Refuses to go on with an XR that serves another claim. One that serves none may be bound.
pub fn check_binding(claim: &Object, xr: &Object) -> Result<(), ClaimError> {
    match Composite::new(xr, Layout::Legacy).field("claimRef") {
        Some(bound) if !is_bound(claim, xr) => Err(ClaimError::BoundElsewhere {
            composite: object::name(xr).unwrap_or_default().to_owned(),
            claim: bound.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Whether `xr` serves `claim`.
pub fn is_bound(claim: &Object, xr: &Object) -> bool {
    let bound = Composite::new(xr, Layout::Legacy).claim_ref();
    bound.is_some_and(|bound| ObjectRef::of(claim) == Ok(bound))
}

/// Decides both directions of the spec. `xr` is the XR as it is, if it exists; `xr_ref` says which object it is or will
/// be; `enforced` says that the XRD leaves the claim no choice of Composition.
pub fn sync(
    claim: &Object,
    xr: Option<&Object>,
    xr_ref: &ObjectRef,
    enforced: bool,
) -> Result<Sync, ClaimError> {
    if let Some(xr) = xr {
        check_binding(claim, xr)?;
    }
    let composite = composite_intent(claim, xr, xr_ref, enforced)?;
    let synced = bound_claim(claim, xr, xr_ref, enforced);
    Ok(Sync { claim_changed: synced != *claim, claim: synced, composite })
}

fn composite_intent(
    claim: &Object,
    xr: Option<&Object>,
    xr_ref: &ObjectRef,
    enforced: bool,
) -> Result<Object, ClaimError> {
    let mut spec = claim.get("spec").and_then(Value::as_object).ok_or(ClaimError::Spec)?.clone();
    let manual = policy(xr) == Some(UpdatePolicy::Manual);
    spec.retain(|key, _| match key.as_str() {
        // The claim decides on the revision when updates are manual, else the XR does.
        "compositionRevisionRef" => manual,
        "compositionRef" => !enforced,
        key => !NOT_PROPAGATED.contains(&key),
    });
    let reference = ObjectRef::of(claim)?;
    let namespace = reference.namespace.as_ref().map_or("", Namespace::as_str);
    let mut claim_ref = object::reference(&reference);
    claim_ref["namespace"] = namespace.into();
    spec.insert("claimRef".to_owned(), claim_ref);

    let mut labels = propagated(claim, "labels");
    labels.insert(LABEL_CLAIM_NAME.to_owned(), reference.name.as_str().into());
    labels.insert(LABEL_CLAIM_NAMESPACE.to_owned(), namespace.into());
    let mut annotations = propagated(claim, "annotations");
    if let Some(external_name) = xr.and_then(external_name) {
        annotations.insert(ANNOTATION_EXTERNAL_NAME.to_owned(), external_name.into());
    }
    let mut metadata = json!({"name": xr_ref.name, "labels": labels});
    if !annotations.is_empty() {
        metadata["annotations"] = annotations.into();
    }
    Ok(object::object(json!({
        "apiVersion": xr_ref.api_version().to_string(), "kind": xr_ref.kind(), "metadata": metadata, "spec": spec,
    })))
}

/// The claim, bound to its XR and with what the XR has decided for it.
fn bound_claim(claim: &Object, xr: Option<&Object>, xr_ref: &ObjectRef, enforced: bool) -> Object {
    let mut bound = claim.clone();
    let spec = object::nested_mut(&mut bound, &["spec"]);
    spec.insert("resourceRef".to_owned(), object::reference(xr_ref));
    let Some(xr) = xr else { return bound };
    let composite = Composite::new(xr, Layout::Legacy);
    let mut take = |key: &str| {
        if let Some(value) = composite.field(key) {
            spec.insert(key.to_owned(), value.clone());
        }
    };
    let has = |key: &str| object::nested(claim, &["spec", key]).is_some_and(|value| !value.is_null());
    if composite.composition_ref().is_some() && (enforced || !has("compositionRef")) {
        take("compositionRef");
    }
    if !has("compositionRevisionSelector") {
        take("compositionRevisionSelector");
    }
    if policy(Some(xr)) == Some(UpdatePolicy::Automatic) && composite.revision_ref().is_some() {
        take("compositionRevisionRef");
    }
    if let Some(external_name) = external_name(xr) {
        let annotations = object::nested_mut(&mut bound, &["metadata", "annotations"]);
        annotations.insert(ANNOTATION_EXTERNAL_NAME.to_owned(), external_name.into());
    }
    bound
}

/// The status of the claim after it was synced with `xr`.
///
/// `error_text` is the message the Composition or XRD wants after an internal error. Conditions of other managers stay;
/// the caller sets the time of the connection details.
pub fn status(
    claim: &Object,
    xr: &Object,
    error_text: Option<&str>,
    now: Timestamp,
) -> Result<Object, ClaimError> {
    let mut status = match xr.get("status") {
        None => claim.get("status").and_then(Value::as_object).cloned().unwrap_or_default(),
        Some(Value::Object(status)) => status.clone(),
        Some(_) => return Err(ClaimError::Status),
    };
    status.retain(|key, _| !ENGINE_FIELDS.contains(&key.as_str()));
    if let Some(published) = object::nested(claim, &["status", "connectionDetails"]) {
        status.insert("connectionDetails".to_owned(), published.clone());
    }
    status.insert("conditions".to_owned(), conditions(claim, xr, error_text, now).to_value());
    Ok(status)
}

/// The status of a claim with `conditions` set and all else as it is: when it is paused, deleted or cannot be synced.
pub fn with_conditions(claim: &Object, conditions: impl IntoIterator<Item = Condition>) -> Object {
    let mut all = Conditions::of(claim);
    for condition in conditions {
        all.set(condition.generation(object::generation(claim)));
    }
    let mut status = claim.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    status.insert("conditions".to_owned(), all.to_value());
    status
}

fn conditions(claim: &Object, xr: &Object, error_text: Option<&str>, now: Timestamp) -> Conditions {
    let mut conditions = Conditions::of(claim);
    let theirs = Conditions::of(xr);
    let generation = object::generation(claim);
    let mark =
        |conditions: &mut Conditions, condition: Condition| conditions.set(condition.generation(generation));
    mark(&mut conditions, reconcile_success(now));

    let shown = Composite::new(xr, Layout::Legacy).claim_condition_types();
    for kind in retired(xr).iter().filter(|kind| !is_system(kind) && !shown.contains(kind)) {
        conditions.remove(kind);
    }
    for condition in shown.iter().filter(|kind| !is_system(kind)).filter_map(|kind| theirs.get(kind)) {
        mark(&mut conditions, condition.clone());
        // The XR decides on the transition time, even if the claim is synced later.
        conditions.set_transition_time(&condition.kind, condition.last_transition_time);
    }
    mark(&mut conditions, ready(theirs.get(READY), now));
    if let Some(healthy) = health::claim_condition(xr, error_text, now) {
        mark(&mut conditions, healthy);
    }
    conditions
}

/// `Ready` on the claim: the reason stays `Waiting`, and the message lists the unready resources without the cause.
fn ready(xr: Option<&Condition>, now: Timestamp) -> Condition {
    if xr.is_some_and(Condition::is_true) {
        return Condition::new(READY, ConditionStatus::True, "Available", now);
    }
    let waiting = "Claim is waiting for composite resource to become Ready";
    let unready = xr.and_then(|ready| ready.message.strip_prefix(UNREADY));
    let message = unready.map_or_else(|| waiting.to_owned(), |unready| format!("{waiting}: {unready}"));
    Condition::new(READY, ConditionStatus::False, "Waiting", now).message(message)
}

/// What is to be done for a claim that is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Delete the XR, then remove the claim's finalizer.
    DeleteThenRelease,
    /// Delete the XR in the foreground and requeue.
    DeleteInForeground,
    /// The XR is being deleted: requeue.
    Wait,
    /// There is no XR: remove the claim's finalizer.
    Release,
}

/// Decides how the deletion of `claim` goes on, given its XR if it exists.
pub fn deletion(claim: &Object, xr: Option<&Object>) -> Deletion {
    let policy = object::text(claim, &["spec", "compositeDeletePolicy"]);
    match (xr, policy) {
        (None, _) => Deletion::Release,
        (Some(xr), Some("Foreground")) if object::is_being_deleted(xr) => Deletion::Wait,
        (Some(_), Some("Foreground")) => Deletion::DeleteInForeground,
        (Some(_), _) => Deletion::DeleteThenRelease,
    }
}

/// Labels or annotations that are propagated: all but those that belong to Kubernetes, such as kubectl's
/// `last-applied-configuration`.
fn propagated(claim: &Object, which: &str) -> Object {
    let reserved = |key: &str| {
        let domain = key.split_once('/').map_or(key, |(domain, _)| domain);
        domain.ends_with("kubernetes.io") || domain.ends_with("k8s.io")
    };
    let entries = object::map(claim, &["metadata", which]);
    let kept = entries.into_iter().flatten().filter(|(key, _)| !reserved(key));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn policy(xr: Option<&Object>) -> Option<UpdatePolicy> {
    Composite::new(xr?, Layout::Legacy).update_policy()
}

fn external_name(xr: &Object) -> Option<&str> {
    object::annotation(xr, ANNOTATION_EXTERNAL_NAME)
}

#[cfg(test)]
mod tests;
