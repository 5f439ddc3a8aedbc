//! Which conditions objects of a kind can have, so that a wait for another one is pointed out at once, and ends.
//!
//! For Kubernetes' own kinds a table says so; kinds whose conditions others are meant to extend are not in it: Pods have
//! readiness gates, Nodes and Services have controllers of many vendors. For other kinds, their CRDs do.

use manifest::GroupVersionKind;
use serde_json::Value;

use crate::rule::is_ready_when_created;

const CONDITIONS: &[(&str, &str, &[&str])] = &[
    (
        "",
        "Namespace",
        &[
            "NamespaceContentRemaining",
            "NamespaceDeletionContentFailure",
            "NamespaceDeletionDiscoveryFailure",
            "NamespaceDeletionGroupVersionParsingFailure",
            "NamespaceFinalizersRemaining",
        ],
    ),
    ("", "PersistentVolume", &[]),
    (
        "",
        "PersistentVolumeClaim",
        &[
            "ControllerResizeError",
            "FileSystemResizePending",
            "ModifyVolumeError",
            "ModifyingVolume",
            "NodeResizeError",
            "Resizing",
        ],
    ),
    ("", "ReplicationController", &["ReplicaFailure"]),
    ("apiregistration.k8s.io", "APIService", &["Available"]),
    ("apps", "DaemonSet", &[]),
    ("apps", "Deployment", &["Available", "Progressing", "ReplicaFailure"]),
    ("apps", "ReplicaSet", &["ReplicaFailure"]),
    ("apps", "StatefulSet", &[]),
    ("autoscaling", "HorizontalPodAutoscaler", &["AbleToScale", "ScalingActive", "ScalingLimited"]),
    ("batch", "Job", &["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended"]),
    ("certificates.k8s.io", "CertificateSigningRequest", &["Approved", "Denied", "Failed"]),
    ("networking.k8s.io", "Ingress", &[]),
    ("policy", "PodDisruptionBudget", &["DisruptionAllowed"]),
];

/// Whether all conditions of the kind are known.
pub fn knows_conditions(kind: &GroupVersionKind) -> bool {
    known_conditions(kind.group(), kind.kind()).is_some()
}

/// The types of the conditions that Kubernetes sets on objects of this kind; `None` if others may set more.
pub(crate) fn known_conditions(group: &str, kind: &str) -> Option<&'static [&'static str]> {
    let listed = CONDITIONS.iter().find(|entry| (entry.0, entry.1) == (group, kind));
    listed.map(|entry| entry.2).or_else(|| is_ready_when_created(group, kind).then_some(&[]))
}

/// Which conditions the CRD of a kind lets its objects have. The API server removes others, or rejects them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Conditions {
    /// There is no CRD, it cannot be read, or it leaves the question open.
    #[default]
    Unknown,
    None,
    Any,
    /// Of these types only.
    Only(Vec<String>),
}

impl Conditions {
    /// What an entry of a CRD's `spec.versions` says.
    pub fn of_version(version: &Value) -> Self {
        let Some(schema) = version.pointer("/schema/openAPIV3Schema") else { return Self::Unknown };
        let mut below = schema;
        for name in ["status", "conditions"] {
            match below["properties"].get(name) {
                Some(next) => below = next,
                None if keeps_unknown(below) => return Self::Unknown,
                None => return Self::None,
            }
        }
        let types = below.pointer("/items/properties/type/enum").and_then(Value::as_array);
        types.map_or(Self::Any, |types| {
            Self::Only(types.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect())
        })
    }

    /// Whether a controller is expected to report conditions.
    pub const fn are_declared(&self) -> bool {
        matches!(self, Self::Any | Self::Only(_))
    }
}

/// Whether the API server keeps fields of an object that its schema does not list.
fn keeps_unknown(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == true
        || schema.get("additionalProperties").is_some_and(|others| others != false)
}

/// Why an object of this kind, whose CRD says `conditions`, never has the condition `wanted`.
pub(crate) fn why_never(group: &str, kind: &str, conditions: &Conditions, wanted: &str) -> Option<String> {
    let is_wanted = |known: &str| known.eq_ignore_ascii_case(wanted);
    match (known_conditions(group, kind), conditions) {
        (Some([]), _) => Some(format!("Kubernetes sets no conditions on a {kind}")),
        (Some(known), _) if !known.iter().any(|known| is_wanted(known)) => {
            Some(format!("Kubernetes sets no condition {wanted:?} on a {kind}, only {}", known.join(", ")))
        }
        (None, Conditions::None) => {
            Some(format!("a {kind} has no conditions, because its CRD declares none"))
        }
        (None, Conditions::Only(types)) if !types.iter().any(|one| is_wanted(one)) => {
            Some(format!("the CRD of {kind} allows no condition {wanted:?}, only {}", types.join(", ")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_crd_says_which_conditions_its_objects_can_have() {
        let check = |schema: Value, expected: Conditions| {
            let version = json!({ "schema": { "openAPIV3Schema": schema } });
            assert_eq!(Conditions::of_version(&version), expected, "{schema}");
        };
        let status = |status: Value| json!({ "type": "object", "properties": { "status": status } });
        let list = |item: Value| json!({ "type": "object", "properties": { "conditions": { "type": "array", "items": item } } });
        check(json!({ "type": "object" }), Conditions::None);
        check(json!({ "x-kubernetes-preserve-unknown-fields": true }), Conditions::Unknown);
        check(status(json!({ "type": "object" })), Conditions::None);
        check(status(json!({ "additionalProperties": { "type": "string" } })), Conditions::Unknown);
        check(status(json!({ "additionalProperties": false })), Conditions::None);
        check(status(list(json!({ "type": "object" }))), Conditions::Any);
        check(
            status(list(json!({ "properties": { "type": { "enum": ["Ready", "Synced"] } } }))),
            Conditions::Only(vec!["Ready".to_owned(), "Synced".to_owned()]),
        );
        assert_eq!(Conditions::of_version(&json!({})), Conditions::Unknown);
    }

    #[test]
    fn a_condition_that_a_kind_cannot_have_is_known() {
        let only = Conditions::Only(vec!["Ready".to_owned()]);
        let check = |group: &str, kind: &str, conditions: &Conditions, wanted: &str, never: bool| {
            assert_eq!(why_never(group, kind, conditions, wanted).is_some(), never, "{kind} {wanted}");
        };
        check("apps", "Deployment", &Conditions::Unknown, "available", false);
        check("apps", "Deployment", &Conditions::Unknown, "Availible", true);
        check("apps", "StatefulSet", &Conditions::Unknown, "Available", true);
        check("", "Pod", &Conditions::Unknown, "example.org/gate", false);
        check("example.org", "Widget", &only, "ready", false);
        check("example.org", "Widget", &only, "Synced", true);
        check("example.org", "Widget", &Conditions::None, "Ready", true);
        check("example.org", "Widget", &Conditions::Any, "Ready", false);
        check("example.org", "Widget", &Conditions::Unknown, "Ready", false);
    }
}
