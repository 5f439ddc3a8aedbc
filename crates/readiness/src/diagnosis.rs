//! Why a wait was not met, explained from the object as it was seen last.
//!
//! Title and key phrases are those users and their tests match on: `Wait Operation Failed`, `Wait Timeout`,
//! `did not appear`, and the word timeout.

mod target;
#[cfg(test)]
mod tests;
mod text;

use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::Value;

use crate::check::{Mode, Path, Wait};
use crate::codes;
use crate::object::{Object, because};
use crate::pod::{self, pod_selector};
use crate::written::rolls_out;

use self::target::{events, in_namespace, kubectl, quoted, slashed};
use self::text::Text;

/// More issues would bury the rest of the text; pods of one workload mostly have the same one.
const MAX_POD_ISSUES: usize = 3;

/// Longer messages say more about the registry or the runtime than about the object.
const MAX_POD_MESSAGE: usize = 100;

/// How a wait ended without being met.
#[derive(Clone, Copy)]
pub enum Cause<'a> {
    /// The object did not exist within the timeout.
    DidNotAppear,
    /// The timeout passed. Read the object once more before saying so: it may have become ready in the end.
    TimedOut {
        object: &'a Value,
        /// Its pods, as far as [`pod_selector`] finds any; ten are plenty.
        pods: &'a [Value],
    },
    Never {
        /// As [`Check::Never`](crate::Check::Never) says.
        why: &'a str,
        object: &'a Value,
        /// Its pods, as far as [`pod_selector`] finds any; ten are plenty.
        pods: &'a [Value],
    },
}

impl Wait {
    /// Why the wait was not met, as an error. A caller that must not fail lowers its severity.
    pub fn diagnose(&self, target: &ObjectRef, cause: Cause<'_>) -> Diagnostic {
        let (code, detail) = match cause {
            Cause::DidNotAppear => (codes::DID_NOT_APPEAR, self.did_not_appear(target)),
            Cause::TimedOut { object, pods } => (codes::TIMED_OUT, self.timed_out(target, object, pods)),
            Cause::Never { why, object, pods } => (codes::NEVER, self.never(target, why, object, pods)),
        };
        Diagnostic::error(code, "Wait Operation Failed").detail(detail).object(target.to_string())
    }

    fn did_not_appear(&self, target: &ObjectRef) -> String {
        let mut text = Text::default();
        let namespace =
            target.namespace.as_ref().map(|name| format!(" (namespace: \"{name}\")")).unwrap_or_default();
        let timeout = self.timeout;
        text.line(format_args!(
            "{} {:?}{namespace} did not appear within {timeout}",
            target.kind(),
            target.name
        ));
        text.list(
            "Common causes:",
            [
                "- It has not been created yet, or has another name or namespace",
                "- The controller that creates it is not running, or failed",
                "- A quota or an admission webhook refused it",
            ],
        );
        text.list("Look for it:", [kubectl(target, "get"), events(target)]);
        self.longer_timeout(&mut text);
        text.finish()
    }

    fn timed_out(&self, target: &ObjectRef, live: &Value, pods: &[Value]) -> String {
        let mut text = Text::default();
        let object = Object::from(live);
        let missing = self.look(live).err();
        let has_conditions = object.conditions().next().is_some();
        text.line(format_args!("Wait Timeout: {}", slashed(target)));
        text.blank();
        let no_conditions_found = match self.mode {
            Mode::Condition { .. } if !has_conditions => ": no conditions found",
            _ => "",
        };
        text.line(format_args!("{} within {}{no_conditions_found}", self.missed(target), self.timeout));
        match &self.mode {
            Mode::Condition { .. } if !has_conditions => no_conditions(&mut text, target, object, pods),
            Mode::Condition { kind, .. } => {
                current_status(&mut text, object, pods);
                text.blank();
                text.line(found(object, kind));
            }
            Mode::Rollout => {
                text.reason("Still to come", missing);
                current_status(&mut text, object, pods);
            }
            Mode::Field(path) => {
                text.reason("Last seen", missing);
                field_causes(&mut text, path);
            }
            Mode::FieldValue(expected) => {
                values(&mut text, expected, live);
                text.reason("The status is out of date", object.stale_status());
            }
        }
        investigate(&mut text, target, live);
        self.longer_timeout(&mut text);
        text.finish()
    }

    fn never(&self, target: &ObjectRef, why: &str, object: &Value, pods: &[Value]) -> String {
        let mut text = Text::default();
        text.line(format_args!("Wait Timeout Cut Short: {}", slashed(target)));
        text.blank();
        text.line(format_args!("{}: {why}", self.missed(target)));
        text.line(format_args!("Waiting for the rest of the timeout of {} would not help.", self.timeout));
        current_status(&mut text, object.into(), pods);
        investigate(&mut text, target, object);
        text.finish()
    }

    /// What did not happen.
    fn missed(&self, target: &ObjectRef) -> String {
        let (kind, name) = (target.kind(), quoted(target));
        match &self.mode {
            Mode::Condition { kind: wanted, status } => {
                format!("{kind} did not reach condition {wanted:?}={status}")
            }
            // `apply --wait` waits for kinds that do not roll out as well.
            Mode::Rollout if rolls_out(&target.gvk) => format!("{kind} did not complete rollout"),
            Mode::Rollout => format!("{kind} did not become ready"),
            Mode::Field(path) => format!("{kind} {name} field {:?} was not populated", path.text()),
            Mode::FieldValue(_) => format!("{kind} {name} did not reach the expected field values"),
        }
    }

    fn longer_timeout(&self, text: &mut Text) {
        text.blank();
        text.line(format_args!("If it only needs more time, set a longer timeout than {}.", self.timeout));
    }
}

fn current_status(text: &mut Text, object: Object<'_>, pods: &[Value]) {
    let replicas = replicas(object);
    let conditions: Vec<String> = object
        .conditions()
        .map(|condition| {
            format!("{}={}{}", condition.kind, condition.status, because(condition.reason, condition.message))
        })
        .collect();
    let issues: Vec<String> = pods
        .iter()
        .map(Object::from)
        .flat_map(|pod| {
            let name = pod.text("/metadata/name");
            pod::issues(pod, MAX_POD_MESSAGE).map(move |issue| format!("{name}: {issue}"))
        })
        .take(MAX_POD_ISSUES)
        .collect();
    if replicas.is_none() && conditions.is_empty() && issues.is_empty() {
        return;
    }
    text.blank();
    text.line("Current status:");
    if let Some(replicas) = replicas {
        text.line(format_args!("  {replicas}"));
    }
    text.sublist("Conditions:", &conditions);
    text.sublist("Pod issues:", &issues);
}

fn no_conditions(text: &mut Text, target: &ObjectRef, object: Object<'_>, pods: &[Value]) {
    let kind = target.kind();
    text.blank();
    if is_workload(object) || is_job(object) {
        text.line(format_args!(
            "The controller of this {kind} has not reported anything yet; is it running?"
        ));
        current_status(text, object, pods);
        return;
    }
    text.line(format_args!(
        "Not every kind reports conditions. If {kind} does not, wait for a field or for its value instead:"
    ));
    text.line("  wait_for = { field = \"status.someField\" }");
    text.line("  wait_for = { field_value = { \"status.phase\" = \"Active\" } }");
}

fn field_causes(text: &mut Text, path: &Path) {
    text.list(
        "Common causes:",
        [
            "- The controller that fills it in is not running, or has not got to it yet".to_owned(),
            "- It waits for something outside the cluster, such as a load balancer or a volume".to_owned(),
            format!("- The path is not the one this kind has: {}", path.text()),
        ],
    );
}

/// What was expected, and what is there; never with the content of a Secret.
fn values(text: &mut Text, expected: &[(Path, String)], live: &Value) {
    let hidden = Object::from(live).is_secret();
    let wanted = expected.iter().map(|(path, value)| {
        let value = if hidden { "(sensitive)".to_owned() } else { format!("{value:?}") };
        format!("{}: {value}", path.text())
    });
    text.list("Expected values:", wanted);
    let current = expected.iter().map(|(path, value)| match path.first_text(live) {
        Ok(current) if current == *value => format!("{}: as expected", path.text()),
        Ok(_) if hidden => format!("{}: (sensitive, differs)", path.text()),
        Ok(current) => format!("{}: {current:?}", path.text()),
        Err(_) => format!("{}: (not set)", path.text()),
    });
    text.list("Current values:", current);
}

fn investigate(text: &mut Text, target: &ObjectRef, object: &Value) {
    let mut commands = vec![kubectl(target, "describe"), format!("{} -o yaml", kubectl(target, "get"))];
    if let Some(selector) = pod_selector(object) {
        commands.push(format!("kubectl get pods -l '{selector}'{}", in_namespace(target)));
    }
    commands.push(events(target));
    text.list("To investigate:", commands);
}

fn replicas(object: Object<'_>) -> Option<String> {
    if is_job(object) {
        let count = |name: &str| object.count(&format!("/status/{name}"));
        let (active, succeeded, failed) = (count("active"), count("succeeded"), count("failed"));
        return Some(format!("Pods: {active} active, {succeeded} succeeded, {failed} failed"));
    }
    if !is_workload(object) {
        return None;
    }
    if object.group_kind() == ("apps", "DaemonSet") {
        let wanted = object.count("/status/desiredNumberScheduled");
        let (ready, updated) =
            (object.count("/status/numberReady"), object.count("/status/updatedNumberScheduled"));
        return Some(format!("Replicas: {ready}/{wanted} ready, {updated}/{wanted} updated"));
    }
    let (wanted, ready) = (object.replicas(), object.count("/status/readyReplicas"));
    let available = object.count("/status/availableReplicas");
    let unavailable = object.int("/status/unavailableReplicas").unwrap_or((wanted - available).max(0));
    Some(format!("Replicas: {ready}/{wanted} ready, {available} available, {unavailable} unavailable"))
}

fn is_workload(object: Object<'_>) -> bool {
    matches!(object.group_kind(), ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet"))
}

fn is_job(object: Object<'_>) -> bool {
    object.group_kind() == ("batch", "Job")
}

/// The condition that was waited for, as it is now.
fn found(object: Object<'_>, wanted: &str) -> String {
    let Some(condition) = object.condition(wanted) else {
        return format!("Condition {wanted:?} never appeared; check its name against those above.");
    };
    let part = |name: &str, text: &str| if text.is_empty() { String::new() } else { format!("{name}{text}") };
    let reason = part(", reason ", condition.reason);
    let message = part(", message: ", condition.message);
    let stale = object.stale_condition(&condition).unwrap_or_default();
    let stale = part("; it is out of date: ", &stale);
    format!("Condition {wanted:?} exists with status {}{reason}{message}{stale}", condition.status)
}
