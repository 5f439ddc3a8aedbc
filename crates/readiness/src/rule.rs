//! When an object of a built-in kind is ready: one rule per kind.
//!
//! The rules for workloads are those of `kubectl rollout status`, extended to `replicas: 0`, partitions and `OnDelete`.
//! They trust a status only once the controller has observed the current generation.

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use crate::check::condition;
use crate::health::Health;
use crate::object::Object;
use crate::pod;

#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// Created is ready: its status, if it has one, says nothing about readiness.
    Exists,
    /// A load balancer has an address; other Services are ready when created.
    Service,
    /// `status.phase` is one of these.
    Phase(&'static [&'static str]),
    /// This condition is True.
    Condition(&'static str),
    /// What a function says.
    Checked(fn(Object<'_>) -> Result<(), String>),
    /// What a function says, once the controller has observed the current generation.
    Observed(fn(Object<'_>) -> Result<(), String>),
}

/// Whether objects of this kind are judged by a rule of their own, not by whatever conditions they report.
pub fn has_rule(group: &str, kind: &str) -> bool {
    Rule::of(group, kind).is_some()
}

/// Whether objects of this kind are ready as soon as they exist.
pub fn is_ready_when_created(group: &str, kind: &str) -> bool {
    matches!(Rule::of(group, kind), Some(Rule::Exists))
}

impl Rule {
    pub(crate) fn of(group: &str, kind: &str) -> Option<Self> {
        Some(match (group, kind) {
            ("", "ConfigMap" | "Secret" | "ServiceAccount" | "LimitRange" | "ResourceQuota" | "Endpoints")
            | ("rbac.authorization.k8s.io", "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding")
            | ("networking.k8s.io", "NetworkPolicy" | "IngressClass")
            | ("scheduling.k8s.io", "PriorityClass")
            | ("storage.k8s.io", "StorageClass")
            | ("policy", "PodDisruptionBudget")
            // The runs of a CronJob are Jobs, each with a status of its own.
            | ("batch", "CronJob") => Self::Exists,
            ("", "Namespace") => Self::Phase(&["Active"]),
            ("", "PersistentVolumeClaim") => Self::Phase(&["Bound"]),
            ("", "PersistentVolume") => Self::Phase(&["Available", "Bound"]),
            ("", "Pod") => Self::Checked(pod::check),
            ("", "Service") => Self::Service,
            ("", "ReplicationController") | ("apps", "ReplicaSet") => Self::Observed(replica_set),
            ("apps", "Deployment") => Self::Observed(deployment),
            ("apps", "StatefulSet") => Self::Observed(stateful_set),
            ("apps", "DaemonSet") => Self::Observed(daemon_set),
            ("batch", "Job") => Self::Checked(job),
            ("autoscaling", "HorizontalPodAutoscaler") => Self::Checked(autoscaler),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => Self::Condition("Established"),
            ("apiregistration.k8s.io", "APIService") => Self::Condition("Available"),
            ("certificates.k8s.io", "CertificateSigningRequest") => Self::Condition("Approved"),
            _ => return None,
        })
    }

    /// `Ready`, `NoStatus`, or what is still missing.
    pub(crate) fn check(self, object: Object<'_>) -> Result<Health, String> {
        match self {
            Self::Exists => return Ok(Health::NoStatus),
            Self::Service if object.text("/spec/type") != "LoadBalancer" => return Ok(Health::NoStatus),
            Self::Service => {
                let addresses = object.list("/status/loadBalancer/ingress");
                require(!addresses.is_empty(), format_args!("it has no address"))?;
            }
            Self::Phase(wanted) => match object.text("/status/phase") {
                phase if wanted.contains(&phase) => {}
                "" => return Err("it has no phase yet".to_owned()),
                phase => return Err(format!("it is {phase}")),
            },
            Self::Condition(kind) => condition(object, kind, "True")?,
            Self::Checked(check) => check(object)?,
            Self::Observed(check) => {
                // These controllers always say which generation they observed. An object without a generation, but with a status, was
                // written by hand for a rendering.
                let is_handwritten = object.int("/metadata/generation").is_none()
                    && object.get("/status").is_some_and(Value::is_object);
                let observed = is_handwritten || object.int("/status/observedGeneration").is_some();
                require(observed, format_args!("the controller has not observed it yet"))?;
                object.stale_status().map_or_else(|| check(object), Err)?;
            }
        }
        Ok(Health::Ready)
    }
}

fn deployment(object: Object<'_>) -> Result<(), String> {
    let wanted = object.replicas();
    let updated = object.count("/status/updatedReplicas");
    let paused = if is_set(object, "/spec/paused") { ", and the Deployment is paused" } else { "" };
    require(updated >= wanted, format_args!("{updated} of {wanted} replicas are updated{paused}"))?;
    scaled_down(object, wanted)?;
    let available = object.count("/status/availableReplicas");
    require(available >= wanted, format_args!("{available} of {wanted} updated replicas are available"))
}

fn stateful_set(object: Object<'_>) -> Result<(), String> {
    replica_set(object)?;
    // With OnDelete, the controller leaves old pods alone.
    if object.text("/spec/updateStrategy/type") == "OnDelete" {
        return Ok(());
    }
    let partition = object.count("/spec/updateStrategy/rollingUpdate/partition");
    let to_update = (object.replicas() - partition).max(0);
    let updated = object.count("/status/updatedReplicas");
    require(updated >= to_update, format_args!("{updated} of {to_update} replicas are updated"))
}

fn daemon_set(object: Object<'_>) -> Result<(), String> {
    let wanted = object.count("/status/desiredNumberScheduled");
    if object.text("/spec/updateStrategy/type") != "OnDelete" {
        let updated = object.count("/status/updatedNumberScheduled");
        require(updated >= wanted, format_args!("{updated} of {wanted} pods are updated"))?;
    }
    let ready = object.count("/status/numberReady");
    require(ready >= wanted, format_args!("{ready} of {wanted} pods are ready"))?;
    let available = object.count("/status/numberAvailable");
    require(available >= wanted, format_args!("{available} of {wanted} pods are available"))
}

fn replica_set(object: Object<'_>) -> Result<(), String> {
    let wanted = object.replicas();
    scaled_down(object, wanted)?;
    let ready = object.count("/status/readyReplicas");
    require(ready >= wanted, format_args!("{ready} of {wanted} replicas are ready"))?;
    if object.count("/spec/minReadySeconds") > 0 {
        let available = object.count("/status/availableReplicas");
        require(available >= wanted, format_args!("{available} of {wanted} replicas are available"))?;
    }
    Ok(())
}

fn job(object: Object<'_>) -> Result<(), String> {
    if object.condition("Complete").is_some_and(|condition| condition.is_true()) {
        return Ok(());
    }
    require(!is_set(object, "/spec/suspend"), format_args!("the Job is suspended"))?;
    let succeeded = object.count("/status/succeeded");
    let wanted = object.int("/spec/completions").unwrap_or(1);
    Err(format!("{succeeded} of {wanted} completions have succeeded"))
}

fn autoscaler(object: Object<'_>) -> Result<(), String> {
    condition(object, "AbleToScale", "True")?;
    match object.condition("ScalingActive").filter(|active| active.has_status("False")) {
        Some(inactive) => Err(inactive.to_string()),
        None => Ok(()),
    }
}

/// No more replicas than `wanted` exist.
fn scaled_down(object: Object<'_>, wanted: i64) -> Result<(), String> {
    let surplus = object.count("/status/replicas") - wanted;
    require(surplus <= 0, format_args!("{surplus} old replicas still exist"))
}

fn is_set(object: Object<'_>, pointer: &str) -> bool {
    object.get(pointer).is_some_and(|value| value == true)
}

fn require(met: bool, otherwise: fmt::Arguments<'_>) -> Result<(), String> {
    if met { Ok(()) } else { Err(otherwise.to_string()) }
}
