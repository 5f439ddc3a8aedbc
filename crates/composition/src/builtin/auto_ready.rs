//! `function-auto-ready`: a composed resource is ready when it says so itself, in the way of its kind.

use manifest::GroupVersionKind;
use serde_json::Value;

use super::respond_to;
use crate::condition::Conditions;
use crate::object;
use crate::run::{Object, Ready, RunRequest, RunResponse};

/// Marks desired resources ready whose observed state is. What an earlier function has decided stands.
pub(super) fn run(request: &RunRequest) -> RunResponse {
    let mut response = respond_to(request);
    for (key, resource) in &mut response.desired.resources {
        let observed = request.observed.resources.get(key);
        if resource.ready == Ready::Unspecified && observed.is_some_and(|observed| is_ready(&observed.object))
        {
            resource.ready = Ready::True;
        }
    }
    response
}

/// Whether an object is ready: by the rules of its kind, else by its `Ready` condition.
fn is_ready(object: &Object) -> bool {
    let Ok(gvk) = GroupVersionKind::of(object) else { return has(object, "Ready") };
    let number = |path: &[&str]| object::nested(object, path).and_then(Value::as_i64);
    let status = |key: &str| number(&["status", key]).unwrap_or(0);
    let is_observed = number(&["status", "observedGeneration"]) >= number(&["metadata", "generation"]);
    let wanted = number(&["spec", "replicas"]).unwrap_or(1);
    let phase = || object::nested(object, &["status", "phase"]).and_then(Value::as_str);
    match (gvk.group(), gvk.kind()) {
        // What has no status is ready when it exists; so is a CronJob, whose runs are for its Jobs to tell of.
        ("", "ConfigMap" | "Secret" | "ServiceAccount" | "LimitRange" | "ResourceQuota" | "Endpoints")
        | ("rbac.authorization.k8s.io", "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding")
        | ("networking.k8s.io", "NetworkPolicy" | "IngressClass")
        | ("scheduling.k8s.io", "PriorityClass")
        | ("storage.k8s.io", "StorageClass")
        | ("policy", "PodDisruptionBudget")
        | ("batch", "CronJob") => true,
        ("", "Namespace") => phase() == Some("Active"),
        ("", "PersistentVolumeClaim") => phase() == Some("Bound"),
        ("", "PersistentVolume") => matches!(phase(), Some("Bound" | "Available")),
        ("", "Pod") => phase() == Some("Succeeded") || has(object, "Ready"),
        ("", "Service") => !is_load_balancer(object) || has_address(object),
        ("networking.k8s.io", "Ingress") => has_address(object),
        ("apps", "Deployment") => {
            is_observed
                && status("updatedReplicas") >= wanted
                && status("availableReplicas") >= wanted
                && status("replicas") <= status("updatedReplicas")
        }
        ("apps", "StatefulSet") => is_observed && status("readyReplicas") >= wanted && is_rolled_out(object),
        ("apps", "ReplicaSet") => is_observed && status("availableReplicas") >= wanted,
        ("apps", "DaemonSet") => {
            let scheduled = status("desiredNumberScheduled");
            is_observed
                && status("updatedNumberScheduled") >= scheduled
                && status("numberAvailable") >= scheduled
        }
        ("batch", "Job") => has(object, "Complete") || has(object, "SuccessCriteriaMet"),
        ("autoscaling", "HorizontalPodAutoscaler") => {
            has(object, "AbleToScale") && !is_false(object, "ScalingActive")
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => has(object, "Established"),
        ("apiregistration.k8s.io", "APIService") => has(object, "Available"),
        _ => has(object, "Ready"),
    }
}

fn has(object: &Object, condition: &str) -> bool {
    Conditions::of(object).get(condition).is_some_and(crate::condition::Condition::is_true)
}

fn is_false(object: &Object, condition: &str) -> bool {
    let conditions = Conditions::of(object);
    conditions.get(condition).is_some_and(|found| found.status == crate::run::ConditionStatus::False)
}

fn is_load_balancer(service: &Object) -> bool {
    object::nested(service, &["spec", "type"]).and_then(Value::as_str) == Some("LoadBalancer")
}

fn has_address(object: &Object) -> bool {
    let ingress = object::nested(object, &["status", "loadBalancer", "ingress"]).and_then(Value::as_array);
    ingress.is_some_and(|ingress| !ingress.is_empty())
}

/// Whether all pods of a StatefulSet are of its newest revision, if it replaces them itself.
fn is_rolled_out(set: &Object) -> bool {
    let strategy = object::nested(set, &["spec", "updateStrategy", "type"]).and_then(Value::as_str);
    let revision =
        |key| object::nested(set, &["status", key]).and_then(Value::as_str).filter(|name| !name.is_empty());
    strategy == Some("OnDelete")
        || revision("updateRevision").is_none()
        || revision("currentRevision") == revision("updateRevision")
}

#[cfg(test)]
mod tests;
