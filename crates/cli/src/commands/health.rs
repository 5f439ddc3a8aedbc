//! How an object stands, judged by what it says about itself.

use readiness::{Check, Cut, Wait, WrittenWait};
use serde_json::Value;

/// How an object stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// It says nothing about itself.
    Silent,
    /// It is what it should be.
    Ready,
    /// It is not yet; says why.
    Waiting(String),
    /// It is not and will not be by itself; says why.
    Failed(String),
    /// It is on its way out; says what holds it.
    Going(String),
    /// It should be there and is not.
    Missing,
}

impl Health {
    /// Why it is not what it should be.
    pub(super) fn trouble(&self) -> Option<&str> {
        match self {
            Self::Silent | Self::Ready => None,
            Self::Waiting(why) | Self::Failed(why) | Self::Going(why) => Some(why),
            Self::Missing => Some("it does not exist"),
        }
    }

    /// How bad it is; the cause of a trouble is rather what is worse.
    pub(super) const fn rank(&self) -> u8 {
        match self {
            Self::Silent | Self::Ready => 0,
            Self::Waiting(_) => 1,
            Self::Going(_) => 2,
            Self::Missing => 3,
            Self::Failed(_) => 4,
        }
    }

    /// One word for programs.
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Ready => "ready",
            Self::Waiting(_) => "waiting",
            Self::Failed(_) => "failed",
            Self::Going(_) => "going",
            Self::Missing => "missing",
        }
    }
}

/// How `object` stands.
pub(super) fn health(object: &Value) -> Health {
    if let Some(why) = going(object) {
        return Health::Going(why);
    }
    if is(object, "", "Pod") {
        return pod(object);
    }
    if is(object, "", "Service") && text(object, "/spec/type") == "LoadBalancer" {
        return match list(object, "/status/loadBalancer/ingress") {
            [] => Health::Waiting("it has no address".to_owned()),
            _ => Health::Ready,
        };
    }
    match rollout().check(object) {
        Check::Never(why) => Health::Failed(why),
        Check::NotYet(why) => Health::Waiting(match complaint(object) {
            Some(complaint) => format!("{why}; {complaint}"),
            None => why,
        }),
        Check::Met(_) => match (complaint(object), text(object, "/status/phase")) {
            (Some(complaint), _) => Health::Waiting(complaint),
            (None, phase @ ("Pending" | "Failed" | "Lost")) => Health::Waiting(format!("it is {phase}")),
            (None, "") if list(object, "/status/conditions").is_empty() && !is_workload(object) => {
                Health::Silent
            }
            (None, _) => Health::Ready,
        },
    }
}

fn rollout() -> Wait {
    let written: WrittenWait = "rollout".parse().expect("a fixed text");
    written.parse(None, Cut::Root).wait.expect("every kind that is not named may roll out")
}

/// What holds an object that is being deleted.
fn going(object: &Value) -> Option<String> {
    let since = text(object, "/metadata/deletionTimestamp");
    if since.is_empty() {
        return None;
    }
    let finalizers: Vec<&str> =
        list(object, "/metadata/finalizers").iter().filter_map(Value::as_str).collect();
    let mut why = format!("it is being deleted since {since}");
    if !finalizers.is_empty() {
        why = format!("{why} and held by {}", finalizers.join(", "));
    }
    let left = remains(object);
    Some(if left.is_empty() { why } else { format!("{why}: {}", left.join("; ")) })
}

/// What a namespace or a definition says about what is still in it.
fn remains(object: &Value) -> Vec<&str> {
    const TELL: [&str; 6] = [
        "NamespaceDeletionDiscoveryFailure",
        "NamespaceDeletionGroupVersionParsingFailure",
        "NamespaceDeletionContentFailure",
        "NamespaceContentRemaining",
        "NamespaceFinalizersRemaining",
        "Terminating",
    ];
    let conditions = list(object, "/status/conditions").iter();
    let telling = conditions.filter(|it| TELL.contains(&text(it, "/type")) && text(it, "/status") == "True");
    telling.map(|condition| text(condition, "/message")).collect()
}

/// The first condition that speaks of trouble, with its reason and message. Those that describe progress are no trouble.
fn complaint(object: &Value) -> Option<String> {
    const SHOULD_BE_TRUE: [&str; 8] = [
        "Available",
        "Synced",
        "Healthy",
        "Established",
        "Installed",
        "Accepted",
        "AbleToScale",
        "ScalingActive",
    ];
    const SHOULD_BE_FALSE: [&str; 3] = ["Stalled", "ReplicaFailure", "Failed"];
    let troubles = list(object, "/status/conditions").iter().filter(|condition| {
        let (kind, status) = (text(condition, "/type"), text(condition, "/status"));
        let should_be_true = SHOULD_BE_TRUE.contains(&kind) || kind.ends_with("Ready");
        (should_be_true && status == "False") || (SHOULD_BE_FALSE.contains(&kind) && status == "True")
    });
    // What failed says more than what is not there yet, and what is explained more than what is not.
    let worst = troubles.max_by_key(|condition| {
        (SHOULD_BE_FALSE.contains(&text(condition, "/type")), !text(condition, "/message").is_empty())
    })?;
    let (kind, status) = (text(worst, "/type"), text(worst, "/status"));
    Some(format!("{kind} is {status}{}", because(text(worst, "/reason"), text(worst, "/message"))))
}

/// A pod: what its containers wait for, or why no node takes it.
fn pod(pod: &Value) -> Health {
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
    for container in statuses.iter().flat_map(|statuses| list(pod, statuses)) {
        let name = text(container, "/name");
        let reason = text(container, "/state/waiting/reason");
        if !reason.is_empty() && !matches!(reason, "ContainerCreating" | "PodInitializing") {
            let why = because(reason, text(container, "/state/waiting/message"));
            return Health::Failed(format!("container {name} is waiting{why}"));
        }
        let code = container.pointer("/state/terminated/exitCode").and_then(Value::as_i64);
        if let Some(code) = code.filter(|code| *code != 0) {
            let why = because(
                text(container, "/state/terminated/reason"),
                text(container, "/state/terminated/message"),
            );
            return Health::Failed(format!("container {name} ended with status {code}{why}"));
        }
    }
    let condition = |kind: &str| {
        list(pod, "/status/conditions").iter().find(|condition| text(condition, "/type") == kind)
    };
    match (text(pod, "/status/phase"), condition("PodScheduled"), condition("Ready")) {
        ("Succeeded", ..) => Health::Ready,
        ("Failed", ..) => Health::Failed(format!(
            "it failed{}",
            because(text(pod, "/status/reason"), text(pod, "/status/message"))
        )),
        (_, Some(scheduled), _) if text(scheduled, "/status") == "False" => Health::Waiting(format!(
            "no node takes it{}",
            because(text(scheduled, "/reason"), text(scheduled, "/message"))
        )),
        (_, _, Some(ready)) if text(ready, "/status") == "True" => Health::Ready,
        (phase, ..) => Health::Waiting(format!("it is {}", if phase.is_empty() { "new" } else { phase })),
    }
}

fn is_workload(object: &Value) -> bool {
    ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"].iter().any(|kind| is(object, "apps", kind))
}

fn is(object: &Value, group: &str, kind: &str) -> bool {
    let version = text(object, "/apiVersion");
    version.split_once('/').map_or("", |(group, _)| group) == group && text(object, "/kind") == kind
}

/// Reason and message as they follow a statement.
pub(super) fn because(reason: &str, message: &str) -> String {
    match (reason, message) {
        ("", "") => String::new(),
        ("", message) => format!(": {message}"),
        (reason, "") => format!(" ({reason})"),
        (reason, message) => format!(" ({reason}): {message}"),
    }
}

fn text<'o>(object: &'o Value, pointer: &str) -> &'o str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'o>(object: &'o Value, pointer: &str) -> &'o [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(object: &Value, word: &str, why: Option<&str>) {
        let found = health(object);
        assert_eq!((found.word(), found.trouble()), (word, why), "{object}");
    }

    fn object(api_version: &str, kind: &str, status: &Value) -> Value {
        json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "a" }, "status": status })
    }

    #[test]
    fn pods_say_what_they_wait_for() {
        let pod = |status: Value| object("v1", "Pod", &status);
        let waiting = json!({ "phase": "Pending", "containerStatuses": [
            { "name": "web", "state": { "waiting": { "reason": "ImagePullBackOff", "message": "no web:2" } } },
        ] });
        check(&pod(waiting), "failed", Some("container web is waiting (ImagePullBackOff): no web:2"));
        let ended = json!({ "phase": "Running", "containerStatuses": [
            { "name": "web", "state": { "terminated": { "exitCode": 3, "reason": "Error" } } },
        ] });
        check(&pod(ended), "failed", Some("container web ended with status 3 (Error)"));
        let unscheduled = json!({ "phase": "Pending", "conditions": [
            { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes" },
        ] });
        check(&pod(unscheduled), "waiting", Some("no node takes it (Unschedulable): 0/1 nodes"));
        check(&pod(json!({ "phase": "Succeeded" })), "ready", None);
        check(
            &pod(json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] })),
            "ready",
            None,
        );
    }

    #[test]
    fn others_are_judged_by_their_rollout_and_conditions() {
        check(&object("v1", "ConfigMap", &json!({})), "silent", None);
        check(&object("v1", "Service", &json!({ "loadBalancer": {} })), "silent", None);
        let mut balancer = object("v1", "Service", &json!({ "loadBalancer": {} }));
        balancer["spec"]["type"] = "LoadBalancer".into();
        check(&balancer, "waiting", Some("it has no address"));
        balancer["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } });
        check(&balancer, "ready", None);
        let pending = object("v1", "PersistentVolumeClaim", &json!({ "phase": "Pending" }));
        check(&pending, "waiting", Some("it is Pending"));
        let unready = json!({ "conditions": [{ "type": "Ready", "status": "False", "reason": "Creating", "message": "soon" }] });
        let why = "condition \"Ready\" is False; Ready is False (Creating): soon";
        check(&object("example.org/v1", "Queue", &unready), "waiting", Some(why));
        let word = json!({ "conditions": [
            { "type": "Ready", "status": "True" },
            { "type": "ImageReady", "status": "False", "reason": "NotFound", "message": "Ask for it." },
        ] });
        let why = "ImageReady is False (NotFound): Ask for it.";
        check(&object("example.org/v1", "App", &word), "waiting", Some(why));
        let stalled = json!({ "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Stalled", "status": "True", "reason": "NoQuota" }] });
        check(&object("example.org/v1", "Queue", &stalled), "waiting", Some("Stalled is True (NoQuota)"));
    }

    #[test]
    fn what_is_being_deleted_says_what_holds_it() {
        let mut object = object("v1", "ConfigMap", &json!({}));
        object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        check(&object, "going", Some("it is being deleted since 2026-01-01T00:00:00Z"));
        object["metadata"]["finalizers"] = json!(["a/b"]);
        check(&object, "going", Some("it is being deleted since 2026-01-01T00:00:00Z and held by a/b"));
        object["status"]["conditions"] = json!([
            { "type": "NamespaceContentRemaining", "status": "True", "message": "Some resources are remaining" },
            { "type": "NamespaceFinalizersRemaining", "status": "False", "message": "All is well" },
        ]);
        let why =
            "it is being deleted since 2026-01-01T00:00:00Z and held by a/b: Some resources are remaining";
        check(&object, "going", Some(why));
    }
}
