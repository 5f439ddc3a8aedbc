//! The status of an XR after a pass: one apply that holds what the functions want and what the engine has to say.

mod record;
mod results;

pub(crate) use self::record::retired;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::record::Record;
use crate::composite::{Composite, Layout, identity};
use crate::condition::{Condition, Conditions, READY, is_system};
use crate::event::{self, Event};
use crate::health::{self, PassFailure, Stage, Trouble};
use crate::object;
use crate::pipeline::{Outcome, Said};
use crate::readiness::{self, Child};
use crate::run::{ConditionStatus, FunctionCondition, Object, Target};

/// What a pass over an XR came to.
#[derive(Clone, Debug)]
pub struct Pass<'a> {
    /// The XR as it was read, with the status the last pass left.
    pub xr: Composite<'a>,
    /// The name of the revision in use; empty when none could be chosen.
    pub revision: &'a str,
    /// What the pipeline came to; empty when it did not run.
    pub outcome: &'a Outcome,
    /// Why the pass failed, if it did.
    pub failure: Option<&'a PassFailure>,
    /// What became of the desired resources.
    pub children: &'a [Child],
    /// Keys or names of referenced children that no longer exist, which counts when the pass failed.
    pub gone: &'a [String],
    /// Whether watch events reach the XR.
    pub responsive: Condition,
    /// When connection details were published in this pass.
    pub published: Option<Timestamp>,
    /// The moment of the pass.
    pub now: Timestamp,
}

/// What follows from a pass.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The apply of the status subresource.
    pub intent: Object,
    /// Everything there is to say, in order; [`event::changed`] picks what is new.
    pub events: Vec<Event>,
    /// What is wrong, if anything.
    pub trouble: Option<Trouble>,
    /// The time after which another pass is wanted even if nothing changes.
    pub ttl: Option<Duration>,
}

/// Decides status and events of an XR after a pass.
pub fn settle(pass: &Pass<'_>) -> Settled {
    let uid = object::uid(pass.xr.object).unwrap_or_default();
    let trouble = health::diagnose(uid, pass.outcome, pass.failure, pass.children);
    let mut record = Record::of(pass.xr);
    record.adopt(pass.xr.revision_ref().unwrap_or(pass.revision));
    let mut conditions = record.ours(&Conditions::of(pass.xr.object));
    let generation = object::generation(pass.xr.object);
    let mark = |conditions: &mut Conditions, condition: Condition| {
        conditions.set(condition.generation(generation));
    };

    mark(&mut conditions, pass.responsive.clone());
    if let Some(failure) = pass.failure {
        mark(&mut conditions, readiness::reconcile_error(failure.condition_text(), pass.now));
    }
    for condition in returned(pass.outcome) {
        record.returned(&condition, pass.revision);
        mark(&mut conditions, from_function(&condition, pass.now));
    }
    if let Some(failure) = pass.failure {
        if failure.stage == Stage::Compose {
            for kind in record.unseen() {
                mark(&mut conditions, unknown(&kind, pass.now));
            }
        }
        let before = Conditions::of(pass.xr.object);
        let absent = pass.children.iter().filter(|child| child.is_unsynced()).map(|child| child.key.clone());
        let gone: Vec<String> = pass.gone.iter().cloned().chain(absent).collect();
        let ready = readiness::ready_after_failure(before.get(READY), &gone, pass.now);
        if before.get(READY) != Some(&ready) {
            mark(&mut conditions, ready);
        }
    } else {
        for kind in record.leave_behind(pass.revision) {
            conditions.remove(&kind);
        }
        mark(&mut conditions, readiness::synced(pass.children, pass.now));
        mark(
            &mut conditions,
            readiness::ready(pass.outcome.desired.composite.ready, pass.children, pass.now),
        );
    }
    mark(&mut conditions, health::condition(trouble.as_ref(), pass.now));

    let id = trouble.as_ref().map_or("", |trouble| trouble.id.as_str());
    let intent = status_intent(pass, &conditions, &record, trouble.as_ref());
    Settled { intent, events: events(pass, id), ttl: pass.outcome.ttl, trouble }
}

/// The apply that sets `conditions` and leaves everything else as it is: for an XR that is paused or being deleted.
pub fn marked(xr: Composite<'_>, conditions: impl IntoIterator<Item = Condition>) -> Object {
    let mut record = Record::of(xr);
    record.adopt(xr.revision_ref().unwrap_or_default());
    let mut all = record.ours(&Conditions::of(xr.object));
    for condition in conditions {
        all.set(condition.generation(object::generation(xr.object)));
    }
    let mut status = xr.object.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    status.insert("conditions".to_owned(), all.to_value());
    let mut intent = identity(xr.object);
    intent.insert("status".to_owned(), status.into());
    intent
}

/// On failure the error comes first, then what the functions said; else what they said, then what is not ready.
fn events(pass: &Pass<'_>, id: &str) -> Vec<Event> {
    let mut events = Vec::new();
    events.extend(pass.failure.map(|failure| event::of_failure(failure, id)));
    events.extend(event::of_results(pass.outcome));
    events.extend(readiness::events(pass.children, id));
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
    let all = old_way.chain(outcome.conditions.iter().map(|said: &Said<_>| said.what.clone()));
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
    pass: &Pass<'_>,
    conditions: &Conditions,
    record: &Record,
    trouble: Option<&Trouble>,
) -> Object {
    // A failed pass desires nothing, so what the functions wanted last stands: an apply without it would remove it.
    let source = if pass.failure.is_some() { pass.xr.object } else { &pass.outcome.desired.composite.object };
    let wanted = source.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut status: Object =
        wanted.into_iter().filter(|(key, _)| !ENGINE_FIELDS.contains(&key.as_str())).collect();
    status.insert("conditions".to_owned(), conditions.to_value());
    let mut engine = record.to_value();
    if let Some(trouble) = trouble {
        engine.insert("failure".to_owned(), health::record(trouble));
    }
    if let Some(results) = pipeline_results(pass) {
        engine.insert("pipeline".to_owned(), results);
    }
    let handled = ["status", "crossplane", "lastHandledReconcileAt"];
    let token = pass
        .xr
        .reconcile_request()
        .map(Value::from)
        .or_else(|| object::nested(pass.xr.object, &handled).cloned());
    if let Some(token) = token {
        engine.insert("lastHandledReconcileAt".to_owned(), token);
    }
    if !engine.is_empty() {
        status.insert("crossplane".to_owned(), engine.into());
    }
    if pass.xr.layout == Layout::Legacy {
        if !record.on_claim.is_empty() {
            status.insert("claimConditionTypes".to_owned(), json!(record.on_claim));
        }
        let before =
            object::nested(pass.xr.object, &["status", "connectionDetails", "lastPublishedTime"]).cloned();
        let now = pass.published.and_then(|time| Timestamp::from_second(time.as_second()).ok());
        if let Some(time) = now.map(|time| json!(time.to_string())).or(before) {
            status.insert("connectionDetails".to_owned(), json!({"lastPublishedTime": time}));
        }
    }
    let mut intent = identity(pass.xr.object);
    intent.insert("status".to_owned(), status.into());
    intent
}

/// What the steps said last: in this pass, or before it if the pass failed without hearing them.
fn pipeline_results(pass: &Pass<'_>) -> Option<Value> {
    let before = object::list(pass.xr.object, &["status", "crossplane", "pipeline"]);
    let unheard = before.filter(|entry| {
        let step = entry.get("step").and_then(Value::as_str).unwrap_or_default();
        pass.failure.is_some() && !pass.outcome.answered.iter().any(|answered| answered == step)
    });
    let mut results = results::entries(pass.outcome);
    results.extend(unheard.cloned());
    results.truncate(results::MAX_ENTRIES);
    (!results.is_empty()).then(|| results.into())
}

#[cfg(test)]
mod tests;
