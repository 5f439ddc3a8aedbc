//! Whether a kind that the cluster does not serve can still be installed, so that waiting for it makes sense.

use manifest::GroupVersionKind;

/// The groups of Kubernetes itself that are named like those of its other projects, whose kinds are installed.
const BUILT_IN: [&str; 18] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Whether a missing kind can still be installed. The groups of Kubernetes itself are complete, so a kind missing there
/// is a typo or of another version. A CustomResourceDefinition must have a group with a dot.
pub fn may_still_come(gvk: &GroupVersionKind) -> bool {
    gvk.group().contains('.') && !BUILT_IN.contains(&gvk.group())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kinds_that_can_be_installed_may_still_come() {
        let check = |kind: &str, expected: bool| {
            assert_eq!(may_still_come(&kind.parse().unwrap()), expected, "{kind}");
        };
        check("serving.knative.dev/v1/Service", true);
        check("example.com/v1/Widget", true);
        check("gateway.networking.k8s.io/v1/Gateway", true);
        check("snapshot.storage.k8s.io/v1/VolumeSnapshot", true);
        check("metrics.k8s.io/v1beta1/PodMetrics", true);
        check("apps/v1/Widget", false);
        check("networking.k8s.io/v1/Widget", false);
        check("rbac.authorization.k8s.io/v1/ClusterRol", false);
        check("v1/Widget", false);
    }
}
