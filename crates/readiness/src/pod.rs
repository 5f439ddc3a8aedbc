//! When a Pod is ready, and what is wrong with one that is not.

use serde_json::Value;

use crate::object::{Object, because};

/// The label selector for the pods of a workload or a Job, as `kubectl get pods -l` takes it.
pub fn pod_selector(object: &Value) -> Option<String> {
    let view = Object::from(object);
    let has_pods = matches!(
        view.group_kind(),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job")
    );
    let labels = view.get("/spec/selector/matchLabels")?.as_object().filter(|_| has_pods)?;
    let pairs: Option<Vec<String>> =
        labels.iter().map(|(key, value)| Some(format!("{key}={}", value.as_str()?))).collect();
    pairs.filter(|pairs| !pairs.is_empty()).map(|pairs| pairs.join(","))
}

/// Whether the pod runs and is ready, or has done its work.
pub(crate) fn check(pod: Object<'_>) -> Result<(), String> {
    let phase = pod.text("/status/phase");
    if phase == "Succeeded" || pod.condition("Ready").is_some_and(|ready| ready.is_true()) {
        return Ok(());
    }
    Err(unscheduled(pod).unwrap_or_else(|| match phase {
        "" => "it is new".to_owned(),
        phase => format!("it is {phase}"),
    }))
}

/// What a container of the pod failed at. It may recover: its image may appear, its next start may succeed.
pub(crate) fn failure(pod: Object<'_>) -> Option<String> {
    let starting = |container: &Object<'_>| {
        matches!(container.text("/state/waiting/reason"), "ContainerCreating" | "PodInitializing")
    };
    containers(pod).filter(|container| !starting(container)).find_map(|it| container_issue(it, usize::MAX))
}

/// Everything that is wrong with the pod; messages longer than `longest` are left out.
pub(crate) fn issues(pod: Object<'_>, longest: usize) -> impl Iterator<Item = String> {
    let of_containers = containers(pod).filter_map(move |container| container_issue(container, longest));
    unscheduled(pod).into_iter().chain(of_containers)
}

fn unscheduled(pod: Object<'_>) -> Option<String> {
    let scheduled = pod.condition("PodScheduled").filter(|scheduled| scheduled.has_status("False"))?;
    Some(format!("cannot be scheduled{}", because(scheduled.reason, scheduled.message)))
}

fn containers(pod: Object<'_>) -> impl Iterator<Item = Object<'_>> {
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
    statuses.into_iter().flat_map(move |pointer| pod.list(pointer)).map(Object::from)
}

fn container_issue(container: Object<'_>, longest: usize) -> Option<String> {
    let name = container.text("/name");
    let message = |pointer: &str| {
        let message = container.text(pointer);
        if message.chars().count() < longest { message } else { "" }
    };
    let waiting = container.text("/state/waiting/reason");
    if !waiting.is_empty() {
        let why = because(waiting, message("/state/waiting/message"));
        let last = match container.int("/lastState/terminated/exitCode") {
            Some(code) if code != 0 => format!(", last exit code {code}"),
            _ => String::new(),
        };
        return Some(format!("container {name:?} is waiting{why}{last}"));
    }
    let code = container.count("/state/terminated/exitCode");
    let reason = container.text("/state/terminated/reason");
    let why = because(reason, message("/state/terminated/message"));
    (code != 0 || reason == "Error").then(|| format!("container {name:?} exited with code {code}{why}"))
}
