//! What happens while the configuration is applied, as it happens: the operation in the cloud, and the words on the claim.

use std::time::Duration;

use cluster::{Session, Waited};
use futures::channel::mpsc::UnboundedSender;
use manifest::ObjectRef;
use readiness::Check;
use serde_json::Value;

use super::untrue;
use crate::commands::operation::Operation;
use crate::exit::Failure;

/// How long anything in the story may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// Something that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// What the cloud is doing for the queue.
    Operation { phase: String, standing: String },
    /// A condition on the claim: type, status, reason and message.
    Condition { kind: String, status: String, reason: String, message: String },
}

/// Waits until the API server serves the kind that the definition called `crd` defines.
pub(super) async fn served(session: &Session, crd: &str) -> Result<(), Failure> {
    let gvk = "apiextensions.k8s.io/v1/CustomResourceDefinition".parse().expect("a fixed kind");
    let target = ObjectRef::new(gvk, None, crd);
    until(session, &target, |definition| has_condition(definition, "Established", "True")).await.map(drop)
}

/// Tells what the cloud does for the queue until that is ready; the queue as it is then.
pub(super) async fn follow_queue(
    session: &Session,
    queue: &ObjectRef,
    tell: UnboundedSender<Seen>,
) -> Result<Value, Failure> {
    let mut last = None;
    until(session, queue, |queue| {
        if let Some(operation) = Operation::of(queue) {
            let seen = Seen::Operation { phase: operation.phase.clone(), standing: operation.standing() };
            if last.as_ref() != Some(&seen) {
                // Whoever listens may have heard enough.
                let _ = tell.unbounded_send(seen.clone());
                last = Some(seen);
            }
        }
        has_condition(queue, "Ready", "True")
    })
    .await
}

/// Tells what the claim is told until it is deployed.
pub(super) async fn follow_claim(
    session: &Session,
    claim: &ObjectRef,
    tell: UnboundedSender<Seen>,
) -> Result<Value, Failure> {
    served(session, "apps.demo.plimsoll.dev").await?;
    session.forget_kinds();
    let mut told: Vec<Seen> = Vec::new();
    until(session, claim, |claim| {
        for condition in conditions(claim).filter(|it| ["ImageReady", "Deployed"].contains(&text(it, "type")))
        {
            let seen = Seen::Condition {
                kind: text(condition, "type").to_owned(),
                status: text(condition, "status").to_owned(),
                reason: text(condition, "reason").to_owned(),
                message: text(condition, "message").to_owned(),
            };
            if !told.contains(&seen) {
                let _ = tell.unbounded_send(seen.clone());
                told.push(seen);
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
        Waited::Met { value, .. } => Ok(value),
        Waited::Never { why, .. } | Waited::TimedOut { why, .. } => {
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
