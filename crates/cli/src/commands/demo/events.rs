//! Reports what happens during the apply: the cloud operation of the queue, and the conditions of the claim.

use std::time::Duration;

use cluster::{Readiness, Session, WaitOutcome};
use futures::channel::mpsc::UnboundedSender;
use manifest::ObjectRef;
use readiness::{Check, Cut, Written, WrittenWait};
use serde_json::Value;

use super::untrue;
use crate::support::cloud_operation::CloudOperation;
use crate::support::exit::Failure;

/// The time limit of every step of the demo.
const TIMEOUT: Duration = Duration::from_secs(90);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DemoEvent {
    /// The phase of the operation, or the reason of the condition.
    pub(super) reason: String,
    pub(super) text: String,
}

/// Sends each event once.
struct Reporter {
    sender: UnboundedSender<DemoEvent>,
    sent: Vec<DemoEvent>,
}

impl Reporter {
    fn report(&mut self, event: DemoEvent) {
        if !self.sent.contains(&event) {
            // The receiver may have stopped listening.
            let _ = self.sender.unbounded_send(event.clone());
            self.sent.push(event);
        }
    }
}

/// Waits until the API server serves the kind defined by the CRD named `crd`.
pub(super) async fn served(session: &Session, crd: &str) -> Result<(), Failure> {
    let gvk = "apiextensions.k8s.io/v1/CustomResourceDefinition".parse().expect("a fixed kind");
    wait_for(session, &ObjectRef::new(gvk, None, crd), "condition=Established").await.map(drop)
}

/// Waits for `what` (`rollout`, `field=…`), and returns the value it yields.
pub(super) async fn wait_for(
    session: &Session,
    target: &ObjectRef,
    what: &str,
) -> Result<Option<Value>, Failure> {
    let written: WrittenWait = what.parse().expect("the demo's waits are valid");
    let timeout = Written::Known(format!("{}s", TIMEOUT.as_secs()));
    let wait = WrittenWait { timeout, ..written }.parse(None, Cut::Status).wait;
    let wait = wait.expect("the demo's waits are valid");
    match session.wait_for(target, &wait, |_| {}).await.map_err(|error| error.diagnostic("Wait"))? {
        Readiness::Met { value, .. } => Ok(value),
        Readiness::Unmet { diagnosis, .. } => Err(Failure::Diagnostic(diagnosis)),
    }
}

/// Reports the queue's operation until the queue is ready; returns the queue.
pub(super) async fn follow_queue(
    session: &Session,
    queue: &ObjectRef,
    sender: UnboundedSender<DemoEvent>,
) -> Result<Value, Failure> {
    let mut reporter = Reporter { sender, sent: Vec::new() };
    until(session, queue, |queue| {
        if let Some(operation) = CloudOperation::of(queue) {
            let (phase, progress) = (operation.phase.clone(), operation.progress());
            let text = format!("Queue shop/orders  {phase} operation: {progress}");
            reporter.report(DemoEvent { reason: phase, text });
        }
        readiness::condition(queue, "Ready", "True").is_ok()
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
    let mut reporter = Reporter { sender, sent: Vec::new() };
    until(session, claim, |claim| {
        for condition in conditions(claim) {
            let part = |name: &str| condition[name].as_str().unwrap_or_default();
            let (kind, status, reason, message) =
                (part("type"), part("status"), part("reason"), part("message"));
            if ["ImageReady", "Deployed"].contains(&kind) {
                let colon = if message.is_empty() { "" } else { ": " };
                let text = format!("App shop/orders    {kind} is {status} ({reason}){colon}{message}");
                reporter.report(DemoEvent { reason: reason.to_owned(), text });
            }
        }
        readiness::condition(claim, "Deployed", "True").is_ok() && claim["status"]["endpoint"].is_string()
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
        Some(_) => Check::NotYet("it is not ready yet".to_owned()),
        None => Check::NotYet("it does not exist".to_owned()),
    };
    let waited =
        session.wait_until(target, TIMEOUT, check).await.map_err(|error| error.diagnostic("Wait"))?;
    match waited {
        WaitOutcome::Met { value, .. } => Ok(value),
        WaitOutcome::Never { why, .. } | WaitOutcome::TimedOut { why, .. } => {
            Err(untrue(format!("{target} was not ready within {} s: {why}", TIMEOUT.as_secs())))
        }
    }
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"].as_array().into_iter().flatten()
}
