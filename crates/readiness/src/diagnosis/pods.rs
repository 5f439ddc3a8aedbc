//! What is wrong with the pods of a workload, which is where most trouble of a rollout shows.

use serde_json::Value;

use crate::ended::because;
use crate::object::Object;

/// More would bury the rest of the text; pods of one workload mostly suffer from the same thing.
const MAX_ISSUES: usize = 3;

/// Longer messages say more about the registry or the runtime than about the object.
const MAX_MESSAGE: usize = 100;

/// The label selector for the pods of a workload or a Job, as `kubectl get pods -l` takes it.
pub fn pod_selector(object: &Value) -> Option<String> {
    let has_pods = matches!(
        Object(object).group_kind(),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job")
    );
    let labels = object.pointer("/spec/selector/matchLabels")?.as_object().filter(|_| has_pods)?;
    let pairs: Option<Vec<String>> =
        labels.iter().map(|(key, value)| Some(format!("{key}={}", value.as_str()?))).collect();
    pairs.filter(|pairs| !pairs.is_empty()).map(|pairs| pairs.join(","))
}

/// A line for each of the first issues.
pub(super) fn issues(pods: &[Value]) -> Vec<String> {
    pods.iter().flat_map(|pod| of_pod(Object(pod))).take(MAX_ISSUES).collect()
}

fn of_pod(pod: Object<'_>) -> impl Iterator<Item = String> {
    let name = pod.text("/metadata/name");
    let unscheduled = pod.condition("PodScheduled").filter(|scheduled| scheduled.status == "False");
    let unscheduled = unscheduled.map(|scheduled| {
        format!("{name}: cannot be scheduled{}", because(scheduled.reason, scheduled.message))
    });
    let containers =
        ["/status/initContainerStatuses", "/status/containerStatuses"].map(|pointer| pod.list(pointer));
    let of_containers = containers.into_iter().flatten().filter_map(move |container| {
        let container = Object(container);
        Some(format!("{name}: container {:?} {}", container.text("/name"), of_container(container)?))
    });
    unscheduled.into_iter().chain(of_containers)
}

fn of_container(container: Object<'_>) -> Option<String> {
    let waiting = container.text("/state/waiting/reason");
    if !waiting.is_empty() {
        let message = container.text("/state/waiting/message");
        let message = if message.chars().count() < MAX_MESSAGE { message } else { "" };
        let last = match container.int("/lastState/terminated/exitCode") {
            Some(code) if code != 0 => format!(", last exit code {code}"),
            _ => String::new(),
        };
        return Some(format!("is waiting{}{last}", because(waiting, message)));
    }
    let code = container.int("/state/terminated/exitCode").unwrap_or(0);
    let reason = container.text("/state/terminated/reason");
    let failed = code != 0 || reason == "Error";
    failed.then(|| format!("terminated{} with exit code {code}", because(reason, "")))
}
