//! Shows what happens during the apply: the operation in the cloud, and the conditions of the claim.

use std::time::Duration;

use cluster::{Session, WaitOutcome};
use futures::channel::mpsc::UnboundedSender;
use manifest::ObjectRef;
use readiness::Check;
use serde_json::Value;

use super::untrue;
use crate::support::exit::Failure;
use crate::support::operation::Operation;

/// The timeout of every step of the demo.
const PATIENCE: Duration = Duration::from_secs(90);

/// An observed event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DemoEvent {
    /// The cloud operation of the queue.
    Operation { phase: String, standing: String },
    /// A condition on the claim: type, status, reason and message.
    Condition { kind: String, status: String, reason: String, message: String },
}

/// Waits until the API server serves the kind defined by the CRD named `crd`.
pub(super) async fn served(session: &Session, crd: &str) -> Result<(), Failure> {
    let gvk = "apiextensions.k8s.io/v1/CustomResourceDefinition".parse().expect("a fixed kind");
    let target = ObjectRef::new(gvk, None, crd);
    until(session, &target, |definition| has_condition(definition, "Established", "True")).await.map(drop)
}

/// Reports the queue's operation until the queue is ready; returns the queue.
pub(super) async fn follow_queue(
    session: &Session,
    queue: &ObjectRef,
    sender: UnboundedSender<DemoEvent>,
) -> Result<Value, Failure> {
    let mut last = None;
    until(session, queue, |queue| {
        if let Some(operation) = Operation::of(queue) {
            let seen =
                DemoEvent::Operation { phase: operation.phase.clone(), standing: operation.standing() };
            if last.as_ref() != Some(&seen) {
                // The receiver may have stopped listening.
                let _ = sender.unbounded_send(seen.clone());
                last = Some(seen);
            }
        }
        has_condition(queue, "Ready", "True")
    })
    .await
}

/// Reports the claim's conditions until it is deployed.
pub(super) async fn follow_claim(
    session: &Session,
    claim: &ObjectRef,
    sender: UnboundedSender<DemoEvent>,
) -> Result<Value, Failure> {
    served(session, "apps.demo.plimsoll.dev").await?;
    session.invalidate_discovery();
    let mut seen_before: Vec<DemoEvent> = Vec::new();
    until(session, claim, |claim| {
        for condition in conditions(claim).filter(|it| ["ImageReady", "Deployed"].contains(&text(it, "type")))
        {
            let seen = DemoEvent::Condition {
                kind: text(condition, "type").to_owned(),
                status: text(condition, "status").to_owned(),
                reason: text(condition, "reason").to_owned(),
                message: text(condition, "message").to_owned(),
            };
            if !seen_before.contains(&seen) {
                let _ = sender.unbounded_send(seen.clone());
                seen_before.push(seen);
            }
        }
        has_condition(claim, "Deployed", "True") && claim["status"]["endpoint"].is_string()
    })
    .await
}

async fn until(
    session: &Session,
    target: &ObjectRef,
    mut is_met: impl FnMut(&Value) -> bool,
) -> Result<Value, Failure> {
    let check = |object: Option<&Value>| match object {
        Some(object) if is_met(object) => Check::Met(object.clone()),
        Some(_) => Check::NotYet("it is not there yet".to_owned()),
        None => Check::NotYet("it does not exist".to_owned()),
    };
    let waited =
        session.wait_until(target, PATIENCE, check).await.map_err(|error| error.diagnostic("Wait"))?;
    match waited {
        WaitOutcome::Met { value, .. } => Ok(value),
        WaitOutcome::Never { why, .. } | WaitOutcome::TimedOut { why, .. } => {
            Err(untrue(format!("{target} is not as it should be after {} s: {why}", PATIENCE.as_secs())))
        }
    }
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"].as_array().into_iter().flatten()
}

fn has_condition(object: &Value, kind: &str, status: &str) -> bool {
    conditions(object).any(|condition| text(condition, "type") == kind && text(condition, "status") == status)
}

fn text<'o>(object: &'o Value, name: &str) -> &'o str {
    object[name].as_str().unwrap_or_default()
}
