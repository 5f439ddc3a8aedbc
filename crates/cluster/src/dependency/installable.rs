//! Whether a kind that the cluster does not serve can still be installed, so that waiting for it makes sense.

use manifest::{GroupVersionKind, is_built_in_group};

/// Whether a missing kind can still be installed. The groups of Kubernetes itself are complete, so a kind missing there is a
/// typo or of another version.
pub fn may_still_come(gvk: &GroupVersionKind) -> bool {
    !is_built_in_group(gvk.group())
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
