//! Maps the typed resources of hashicorp/kubernetes to kinds.

use manifest::GroupVersionKind;

/// Type without the `kubernetes_` prefix and the version suffix → API version and kind.
const KINDS: &[(&str, &str)] = &[
    ("api_service", "apiregistration.k8s.io/v1/APIService"),
    ("certificate_signing_request", "certificates.k8s.io/v1/CertificateSigningRequest"),
    ("cluster_role", "rbac.authorization.k8s.io/v1/ClusterRole"),
    ("cluster_role_binding", "rbac.authorization.k8s.io/v1/ClusterRoleBinding"),
    ("config_map", "v1/ConfigMap"),
    ("cron_job", "batch/v1/CronJob"),
    ("csi_driver", "storage.k8s.io/v1/CSIDriver"),
    ("daemon_set", "apps/v1/DaemonSet"),
    ("daemonset", "apps/v1/DaemonSet"),
    ("default_service_account", "v1/ServiceAccount"),
    ("deployment", "apps/v1/Deployment"),
    ("endpoint_slice", "discovery.k8s.io/v1/EndpointSlice"),
    ("endpoints", "v1/Endpoints"),
    ("horizontal_pod_autoscaler", "autoscaling/v2/HorizontalPodAutoscaler"),
    ("ingress", "networking.k8s.io/v1/Ingress"),
    ("ingress_class", "networking.k8s.io/v1/IngressClass"),
    ("job", "batch/v1/Job"),
    ("limit_range", "v1/LimitRange"),
    ("mutating_webhook_configuration", "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration"),
    ("namespace", "v1/Namespace"),
    ("network_policy", "networking.k8s.io/v1/NetworkPolicy"),
    ("persistent_volume", "v1/PersistentVolume"),
    ("persistent_volume_claim", "v1/PersistentVolumeClaim"),
    ("pod", "v1/Pod"),
    ("pod_disruption_budget", "policy/v1/PodDisruptionBudget"),
    ("priority_class", "scheduling.k8s.io/v1/PriorityClass"),
    ("replication_controller", "v1/ReplicationController"),
    ("resource_quota", "v1/ResourceQuota"),
    ("role", "rbac.authorization.k8s.io/v1/Role"),
    ("role_binding", "rbac.authorization.k8s.io/v1/RoleBinding"),
    ("runtime_class", "node.k8s.io/v1/RuntimeClass"),
    ("secret", "v1/Secret"),
    ("service", "v1/Service"),
    ("service_account", "v1/ServiceAccount"),
    ("stateful_set", "apps/v1/StatefulSet"),
    ("storage_class", "storage.k8s.io/v1/StorageClass"),
    ("validating_admission_policy", "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"),
    ("validating_webhook_configuration", "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration"),
];

/// The kind of a resource type such as `kubernetes_config_map` or `kubernetes_config_map_v1`.
pub(super) fn kind_of(type_name: &str) -> Option<GroupVersionKind> {
    let name = type_name.strip_prefix("kubernetes_")?;
    let bare = match name.rsplit_once('_') {
        Some((bare, version)) if is_version(version) => bare,
        _ => name,
    };
    let (_, kind) = KINDS.iter().find(|(known, _)| *known == bare)?;
    kind.parse().ok()
}

/// As in `v1` or `v2beta2`.
fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_in_the_table_can_be_read_and_versions_do_not_matter() {
        for (name, kind) in KINDS {
            assert_eq!(kind_of(&format!("kubernetes_{name}")).unwrap().to_string(), *kind);
            assert_eq!(kind_of(&format!("kubernetes_{name}_v1")).unwrap().to_string(), *kind);
        }
        assert!(KINDS.is_sorted());
        assert_eq!(kind_of("kubernetes_labels"), None);
        assert_eq!(kind_of("helm_release"), None);
        assert!(kind_of("kubernetes_horizontal_pod_autoscaler_v2beta2").is_some());
    }
}
