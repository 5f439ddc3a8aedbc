//! What is Kubernetes' own: the API groups that come with every cluster, while those of all other groups are installed, and
//! the objects that come with every namespace.

/// The groups of Kubernetes itself that are named like those of its other projects, such as `gateway.networking.k8s.io`.
const WITH_A_DOT: [&str; 18] = [
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

/// Whether a group is Kubernetes' own. A CustomResourceDefinition must have a group with a dot.
pub fn is_built_in_group(group: &str) -> bool {
    !group.contains('.') || WITH_A_DOT.contains(&group)
}

/// Whether an object is one that Kubernetes puts into every namespace.
pub fn is_in_every_namespace(kind: &str, name: &str) -> bool {
    matches!((kind, name), ("ConfigMap", "kube-root-ca.crt") | ("ServiceAccount", "default"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_projects_of_kubernetes_are_installed() {
        for group in ["", "apps", "policy", "networking.k8s.io", "rbac.authorization.k8s.io"] {
            assert!(is_built_in_group(group), "{group}");
        }
        for group in ["gateway.networking.k8s.io", "snapshot.storage.k8s.io", "metrics.k8s.io", "example.org"]
        {
            assert!(!is_built_in_group(group), "{group}");
        }
    }
}
