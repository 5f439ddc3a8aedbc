//! The status of an XR after a reconcile: one apply with the desired status of the functions and the engine's own fields.

mod condition_owners;
mod results;

pub(crate) use self::condition_owners::retired;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::condition_owners::ConditionOwners;
use crate::composite::{Composite, Layout, identity};
use crate::condition::{Condition, Conditions, READY, is_system};
use crate::event::{self, Event};
use crate::health::{self, Problem, ReconcileFailure, Stage};
use crate::object;
use crate::pipeline::{Outcome, StepOutput};
use crate::protocol::{ConditionStatus, FunctionCondition, Object, Target};
use crate::readiness::{self, Child};

/// The result of reconciling an XR.
#[derive(Clone, Debug)]
pub struct Reconcile<'a> {
    /// The XR as it was read, with the status of the last reconcile.
    pub xr: Composite<'a>,
    /// The name of the revision in use; empty when none could be chosen.
    pub revision: &'a str,
    /// The outcome of the pipeline; empty when it did not run.
    pub outcome: &'a Outcome,
    /// Why the reconcile failed, if it did.
    pub failure: Option<&'a ReconcileFailure>,
    /// How applying each desired resource went.
    pub children: &'a [Child],
    /// Keys or names of referenced children that no longer exist, which matters when the reconcile failed.
    pub missing: &'a [String],
    /// Whether watch events reach the XR.
    pub responsive: Condition,
    /// When connection details were published in this reconcile.
    pub published: Option<Timestamp>,
    pub now: Timestamp,
}

/// What to write and record after a reconcile.
#[derive(Clone, Debug)]
pub struct StatusReport {
    /// The apply of the status subresource.
    pub intent: Object,
    /// All events, in order; [`event::changed`] picks the new ones.
    pub events: Vec<Event>,
    pub problem: Option<Problem>,
    /// How soon to reconcile again even if nothing changes.
    pub ttl: Option<Duration>,
}

/// Decides status and events of an XR after a reconcile.
pub fn report(reconcile: &Reconcile<'_>) -> StatusReport {
    let uid = object::uid(reconcile.xr.object).unwrap_or_default();
    let problem = health::diagnose(uid, reconcile.outcome, reconcile.failure, reconcile.children);
    let mut owners = ConditionOwners::of(reconcile.xr);
    owners.adopt(reconcile.xr.revision_ref().unwrap_or(reconcile.revision));
    let mut conditions = owners.ours(&Conditions::of(reconcile.xr.object));
    let generation = object::generation(reconcile.xr.object);
    let mark = |conditions: &mut Conditions, condition: Condition| {
        conditions.set(condition.generation(generation));
    };

    mark(&mut conditions, reconcile.responsive.clone());
    if let Some(failure) = reconcile.failure {
        mark(&mut conditions, readiness::reconcile_error(failure.condition_text(), reconcile.now));
    }
    for condition in returned(reconcile.outcome) {
        owners.returned(&condition, reconcile.revision);
        mark(&mut conditions, from_function(&condition, reconcile.now));
    }
    if let Some(failure) = reconcile.failure {
        if failure.stage == Stage::Compose {
            for kind in owners.unseen() {
                mark(&mut conditions, unknown(&kind, reconcile.now));
            }
        }
        let before = Conditions::of(reconcile.xr.object);
        let absent =
            reconcile.children.iter().filter(|child| child.is_unsynced()).map(|child| child.key.clone());
        let missing: Vec<String> = reconcile.missing.iter().cloned().chain(absent).collect();
        let ready = readiness::ready_after_failure(before.get(READY), &missing, reconcile.now);
        if before.get(READY) != Some(&ready) {
            mark(&mut conditions, ready);
        }
    } else {
        for kind in owners.remove_stale(reconcile.revision) {
            conditions.remove(&kind);
        }
        mark(&mut conditions, readiness::synced(reconcile.children, reconcile.now));
        mark(
            &mut conditions,
            readiness::ready(reconcile.outcome.desired.composite.ready, reconcile.children, reconcile.now),
        );
    }
    mark(&mut conditions, health::condition(problem.as_ref(), reconcile.now));

    let id = problem.as_ref().map_or("", |problem| problem.id.as_str());
    let intent = status_intent(reconcile, &conditions, &owners, problem.as_ref());
    StatusReport { intent, events: events(reconcile, id), ttl: reconcile.outcome.ttl, problem }
}

/// The apply that sets `conditions` and leaves everything else as it is: for an XR that is paused or being deleted.
pub fn with_conditions(xr: Composite<'_>, conditions: impl IntoIterator<Item = Condition>) -> Object {
    let mut owners = ConditionOwners::of(xr);
    owners.adopt(xr.revision_ref().unwrap_or_default());
    let mut all = owners.ours(&Conditions::of(xr.object));
    for condition in conditions {
        all.set(condition.generation(object::generation(xr.object)));
    }
    let mut status = xr.object.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    status.insert("conditions".to_owned(), all.to_value());
    let mut intent = identity(xr.object);
    intent.insert("status".to_owned(), status.into());
    intent
}

/// On failure the error comes first, then the functions' results; else their results, then what is not ready.
fn events(reconcile: &Reconcile<'_>, id: &str) -> Vec<Event> {
    let mut events = Vec::new();
    events.extend(reconcile.failure.map(|failure| event::of_failure(failure, id)));
    events.extend(event::of_results(reconcile.outcome));
    events.extend(readiness::events(reconcile.children, id));
    events
}

/// Conditions of functions in the order in which they count: those a function put into the desired status, which is the
/// old way and for the XR only, then those it returned.
fn returned(outcome: &Outcome) -> Vec<FunctionCondition> {
    let in_status = Conditions::of(&outcome.desired.composite.object);
    let old_way =
        in_status.iter().filter(|condition| !is_system(&condition.kind)).map(|condition| FunctionCondition {
            kind: condition.kind.clone(),
            status: condition.status,
            reason: if condition.reason.is_empty() {
                "Unspecified".to_owned()
            } else {
                condition.reason.clone()
            },
            message: Some(condition.message.clone()).filter(|message| !message.is_empty()),
            target: Target::Composite,
        });
    let all = old_way.chain(outcome.conditions.iter().map(|it: &StepOutput<_>| it.output.clone()));
    let mut last: Vec<FunctionCondition> = Vec::new();
    for condition in all {
        match last.iter_mut().find(|known| known.kind == condition.kind) {
            Some(known) => *known = condition,
            None => last.push(condition),
        }
    }
    last
}

fn from_function(condition: &FunctionCondition, now: Timestamp) -> Condition {
    Condition::new(&condition.kind, condition.status, &condition.reason, now)
        .message(condition.message.clone().unwrap_or_default())
}

fn unknown(kind: &str, now: Timestamp) -> Condition {
    Condition::new(kind, ConditionStatus::Unknown, "FatalError", now)
        .message("A fatal error occurred before the status of this condition could be determined.")
}

/// The engine's fields of a status, which no function and no claim may write.
pub(crate) const ENGINE_FIELDS: [&str; 4] =
    ["conditions", "connectionDetails", "claimConditionTypes", "crossplane"];

fn status_intent(
    reconcile: &Reconcile<'_>,
    conditions: &Conditions,
    owners: &ConditionOwners,
    problem: Option<&Problem>,
) -> Object {
    // A failed reconcile desires nothing, so the last desired status stays: an apply without it would remove it.
    let source = if reconcile.failure.is_some() {
        reconcile.xr.object
    } else {
        &reconcile.outcome.desired.composite.object
    };
    let wanted = source.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut status: Object =
        wanted.into_iter().filter(|(key, _)| !ENGINE_FIELDS.contains(&key.as_str())).collect();
    status.insert("conditions".to_owned(), conditions.to_value());
    let mut engine = owners.to_value();
    if let Some(problem) = problem {
        engine.insert("failure".to_owned(), health::record(problem));
    }
    if let Some(results) = pipeline_results(reconcile) {
        engine.insert("pipeline".to_owned(), results);
    }
    let handled = ["status", "crossplane", "lastHandledReconcileAt"];
    let token = reconcile
        .xr
        .reconcile_request()
        .map(Value::from)
        .or_else(|| object::nested(reconcile.xr.object, &handled).cloned());
    if let Some(token) = token {
        engine.insert("lastHandledReconcileAt".to_owned(), token);
    }
    if !engine.is_empty() {
        status.insert("crossplane".to_owned(), engine.into());
    }
    if reconcile.xr.layout == Layout::Legacy {
        if !owners.on_claim.is_empty() {
            status.insert("claimConditionTypes".to_owned(), json!(owners.on_claim));
        }
        let before =
            object::nested(reconcile.xr.object, &["status", "connectionDetails", "lastPublishedTime"])
                .cloned();
        let now = reconcile.published.and_then(|time| Timestamp::from_second(time.as_second()).ok());
        if let Some(time) = now.map(|time| json!(time.to_string())).or(before) {
            status.insert("connectionDetails".to_owned(), json!({"lastPublishedTime": time}));
        }
    }
    let mut intent = identity(reconcile.xr.object);
    intent.insert("status".to_owned(), status.into());
    intent
}

/// The latest results of every step: of this reconcile, or of an earlier one if this one failed before the step ran.
fn pipeline_results(reconcile: &Reconcile<'_>) -> Option<Value> {
    let before = object::list(reconcile.xr.object, &["status", "crossplane", "pipeline"]);
    let not_run = before.filter(|entry| {
        let step = entry.get("step").and_then(Value::as_str).unwrap_or_default();
        reconcile.failure.is_some() && !reconcile.outcome.answered.iter().any(|answered| answered == step)
    });
    let mut results = results::entries(reconcile.outcome);
    results.extend(not_run.cloned());
    results.truncate(results::MAX_ENTRIES);
    (!results.is_empty()).then(|| results.into())
}

#[cfg(test)]
mod tests;
