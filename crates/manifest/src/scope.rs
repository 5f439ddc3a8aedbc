//! Which kinds live outside namespaces, as far as that is known without asking a cluster.

/// Group and kind, in small letters and in order.
///
/// The table is the one k8sconnect's data sources divide manifests by, so that existing configurations keep their
/// addresses. Custom kinds and newer built-in ones are not in it: only discovery knows their scope.
const CLUSTER_SCOPED: &[(&str, &str)] = &[
    ("", "namespace"),
    ("", "node"),
    ("", "persistentvolume"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfiguration"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicy"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybinding"),
    ("admissionregistration.k8s.io", "validatingwebhookconfiguration"),
    ("apiextensions.k8s.io", "customresourcedefinition"),
    ("apiregistration.k8s.io", "apiservice"),
    ("authentication.k8s.io", "selfsubjectreview"),
    ("authentication.k8s.io", "tokenreview"),
    ("authorization.k8s.io", "selfsubjectaccessreview"),
    ("authorization.k8s.io", "selfsubjectrulesreview"),
    ("authorization.k8s.io", "subjectaccessreview"),
    ("certificates.k8s.io", "certificatesigningrequest"),
    ("flowcontrol.apiserver.k8s.io", "flowschema"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfiguration"),
    ("networking.k8s.io", "ingressclass"),
    ("node.k8s.io", "runtimeclass"),
    ("rbac.authorization.k8s.io", "clusterrole"),
    ("rbac.authorization.k8s.io", "clusterrolebinding"),
    ("scheduling.k8s.io", "priorityclass"),
    ("storage.k8s.io", "csidriver"),
    ("storage.k8s.io", "csinode"),
    ("storage.k8s.io", "storageclass"),
    ("storage.k8s.io", "volumeattachment"),
];

/// Whether a kind is in the fixed table of cluster-scoped ones; false says nothing about kinds that are not built in.
pub fn is_known_cluster_scoped(group: &str, kind: &str) -> bool {
    let (group, kind) = (group.to_ascii_lowercase(), kind.to_ascii_lowercase());
    CLUSTER_SCOPED.binary_search(&(group.as_str(), kind.as_str())).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_knows_the_built_in_kinds() {
        assert!(CLUSTER_SCOPED.is_sorted());
        let check = |group, kind, expected| {
            assert_eq!(is_known_cluster_scoped(group, kind), expected, "{group} {kind}");
        };
        check("", "Namespace", true);
        check("rbac.authorization.k8s.io", "ClusterRole", true);
        check("RBAC.authorization.k8s.io", "CLUSTERROLE", true);
        check("rbac.authorization.k8s.io", "Role", false);
        check("example.com", "Namespace", false);
        check("apps", "Deployment", false);
    }
}
