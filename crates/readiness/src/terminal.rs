//! When waiting longer is pointless: the object is being deleted, or its status is final.

use serde_json::Value;

use crate::object::{Condition, Object, because};

/// Conditions of a namespace or a CRD that name what its deletion still waits for.
const REMAINING: [&str; 6] = [
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
    "Terminating",
];

/// That the object is being deleted, and what blocks its deletion.
pub(crate) fn deletion(object: Object<'_>) -> Option<String> {
    let requested = object.text("/metadata/deletionTimestamp");
    if requested.is_empty() {
        return None;
    }
    let mut why = format!("deletion was requested at {requested}");
    let finalizers: Vec<&str> =
        object.list("/metadata/finalizers").iter().filter_map(Value::as_str).collect();
    if !finalizers.is_empty() {
        why = format!("{why} and is blocked by {}", finalizers.join(", "));
    }
    // A namespace is held by finalizers of its own kind; Kubernetes' own one goes by itself.
    let held: Vec<&str> = object
        .list("/spec/finalizers")
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| object.group_kind() == ("", "Namespace") && *name != "kubernetes")
        .collect();
    if !held.is_empty() {
        why = format!("{why} and is held by {}", held.join(", "));
    }
    let remaining = object.conditions().filter(|it| REMAINING.contains(&it.kind) && it.is_true());
    let remaining: Vec<&str> = remaining.map(|condition| condition.message).collect();
    Some(if remaining.is_empty() { why } else { format!("{why}: {}", remaining.join("; ")) })
}

/// That the object already has the condition that excludes `wanted`.
pub(crate) fn opposite(object: Object<'_>, wanted: &str) -> Option<String> {
    let is_request = object.group_kind() == ("certificates.k8s.io", "CertificateSigningRequest");
    let approved = object.condition("Approved").filter(|it| is_request && it.is_true())?;
    let why = because(approved.reason, approved.message);
    wanted.eq_ignore_ascii_case("Denied").then(|| format!("the request was approved{why}"))
}

/// How the object ended, if its status will not change any more.
pub(crate) fn end(object: Object<'_>) -> Option<String> {
    let ended = |kind: &str, what: &str| {
        let condition = object.condition(kind).filter(Condition::is_true)?;
        Some(format!("{what}{}", because(condition.reason, condition.message)))
    };
    match object.group_kind() {
        ("batch", "Job") => {
            ended("Failed", "the Job failed").or_else(|| ended("Complete", "the Job completed"))
        }
        ("apps", "Deployment") => {
            let progressing = object.condition("Progressing")?;
            let exceeded = progressing.reason == "ProgressDeadlineExceeded" && !progressing.is_true();
            // The deadline of an earlier spec says nothing about this one.
            let current = object.stale_condition(&progressing).is_none();
            (exceeded && current).then(|| {
                let why = because(progressing.reason, progressing.message);
                format!("the Deployment exceeded its progress deadline{why}")
            })
        }
        ("", "Pod") => {
            let phase = object.text("/status/phase");
            let why = because(object.text("/status/reason"), object.text("/status/message"));
            matches!(phase, "Failed" | "Succeeded").then(|| format!("the Pod ended in phase {phase}{why}"))
        }
        ("", "PersistentVolumeClaim") => {
            let is_lost = object.text("/status/phase") == "Lost";
            is_lost.then(|| "the claim is Lost: its volume is gone".to_owned())
        }
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            ended("Denied", "the request was denied").or_else(|| ended("Failed", "signing failed"))
        }
        _ => None,
    }
}
