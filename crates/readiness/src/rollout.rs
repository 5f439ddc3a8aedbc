//! When a workload runs what its spec asks for.
//!
//! The rules for workloads are those of `kubectl rollout status`, made to hold for `replicas: 0`, partitions and
//! `OnDelete`, too. They trust a status only once the controller has seen the current generation.

#[cfg(test)]
mod tests;

use std::fmt;

use crate::object::Object;

/// Whether the rollout is complete, or what is still to come.
pub(crate) fn check(object: Object<'_>) -> Result<(), String> {
    match object.group_kind() {
        ("apps", "Deployment") => observed(object).and_then(|()| deployment(object)),
        ("apps", "StatefulSet") => observed(object).and_then(|()| stateful_set(object)),
        ("apps", "DaemonSet") => observed(object).and_then(|()| daemon_set(object)),
        ("apps", "ReplicaSet") => observed(object).and_then(|()| replica_set(object)),
        ("batch", "Job") => job(object),
        _ => other(object),
    }
}

/// These controllers always say which generation they have seen, so a status without one is not theirs yet.
fn observed(object: Object<'_>) -> Result<(), String> {
    require(
        object.int("/status/observedGeneration").is_some() && object.is_observed(),
        format_args!("the spec has not been observed yet"),
    )
}

fn deployment(object: Object<'_>) -> Result<(), String> {
    let wanted = object.replicas();
    let updated = object.count("/status/updatedReplicas");
    let paused = if object.0.pointer("/spec/paused").is_some_and(|paused| paused == true) {
        ", and the Deployment is paused"
    } else {
        ""
    };
    require(updated >= wanted, format_args!("{updated} of {wanted} replicas are updated{paused}"))?;
    scaled_down(object, wanted)?;
    let available = object.count("/status/availableReplicas");
    require(available >= wanted, format_args!("{available} of {wanted} updated replicas are available"))
}

fn stateful_set(object: Object<'_>) -> Result<(), String> {
    let wanted = object.replicas();
    scaled_down(object, wanted)?;
    ready(object, wanted)?;
    // With OnDelete, old pods stay until somebody deletes them; the controller has nothing left to do.
    if object.text("/spec/updateStrategy/type") == "OnDelete" {
        return Ok(());
    }
    let partition = object.count("/spec/updateStrategy/rollingUpdate/partition");
    let to_update = (wanted - partition).max(0);
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
    ready(object, wanted)
}

fn job(object: Object<'_>) -> Result<(), String> {
    if object.condition("Complete").is_some_and(|condition| condition.is_true()) {
        return Ok(());
    }
    if object.0.pointer("/spec/suspend").is_some_and(|suspend| suspend == true) {
        return Err("the Job is suspended".to_owned());
    }
    let succeeded = object.count("/status/succeeded");
    let wanted = object.int("/spec/completions").unwrap_or(1);
    Err(format!("{succeeded} of {wanted} completions have succeeded"))
}

/// Kinds without rules of their own: what they say about themselves counts, and who says nothing is done.
fn other(object: Object<'_>) -> Result<(), String> {
    if object.int("/status/observedGeneration").is_some() {
        observed(object)?;
    }
    for condition in object.conditions().filter(|condition| matches!(condition.kind, "Ready" | "Available")) {
        let kind = condition.kind;
        require(condition.is_true(), format_args!("condition {kind:?} is {}", condition.status))?;
        let stale =
            condition.observed_generation.is_some_and(|seen| Some(seen) < object.int("/metadata/generation"));
        require(!stale, format_args!("condition {kind:?} is about an earlier spec"))?;
    }
    Ok(())
}

/// No more replicas than `wanted` exist.
fn scaled_down(object: Object<'_>, wanted: i64) -> Result<(), String> {
    let surplus = object.count("/status/replicas") - wanted;
    require(surplus <= 0, format_args!("{surplus} old replicas are still there"))
}

/// All wanted replicas are ready, and have been for long enough if the spec asks for that.
fn ready(object: Object<'_>, wanted: i64) -> Result<(), String> {
    let ready = object.count("/status/readyReplicas");
    require(ready >= wanted, format_args!("{ready} of {wanted} replicas are ready"))?;
    if object.count("/spec/minReadySeconds") > 0 {
        let available = object.count("/status/availableReplicas");
        require(available >= wanted, format_args!("{available} of {wanted} replicas are available"))?;
    }
    Ok(())
}

fn require(met: bool, otherwise: fmt::Arguments<'_>) -> Result<(), String> {
    if met { Ok(()) } else { Err(otherwise.to_string()) }
}
