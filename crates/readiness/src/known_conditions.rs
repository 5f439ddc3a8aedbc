//! Which conditions Kubernetes sets on its own kinds, so that a wait for another one is pointed out at once.
//!
//! Kinds whose conditions others are meant to extend are not listed: Pods have readiness gates, Nodes and Services have
//! controllers of many vendors.

use manifest::GroupVersionKind;

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
