//! The transitions between two statuses that are worth an event, each of them reported once.

use diag::Diagnostic;

use super::Desired;
use crate::codes;
use crate::condition::{Condition, ConditionStatus, ConditionType};
use crate::operation::Operation;
use crate::status::Status;

/// The transitions from `before` to `after`. Mere progress (a percentage, a message) is not one.
pub(super) fn between(desired: &Desired, before: &Status, after: &Status) -> Vec<Diagnostic> {
    let kind = desired.kind.name;
    let mut transitions = Vec::new();
    if let Some(operation) = after.current().filter(|operation| !is_same(before.current(), operation)) {
        let phase = operation.record.phase.as_str();
        transitions.push(Diagnostic::note(codes::OPERATION_STARTED, format!("{kind} {phase} is in flight")));
    }
    if let Some(stalled) = became_true(ConditionType::Stalled, before, after) {
        let code = match stalled.reason.as_str() {
            "DeadlineExceeded" => codes::DEADLINE_EXCEEDED,
            "Failed" | "Canceled" => codes::OPERATION_FAILED,
            "EndpointSecret" => codes::ENDPOINT_SECRET,
            _ => codes::OPERATION_STALLED,
        };
        transitions.push(Diagnostic::warning(code, stalled.message.clone()).field("status.conditions"));
    }
    if let Some(retrying) = became_true(ConditionType::Progressing, before, after)
        && retrying.reason == "Retrying"
    {
        transitions.push(Diagnostic::warning(codes::RETRYING, retrying.message.clone()));
    }
    if let Some(ready) = became_true(ConditionType::Ready, before, after) {
        transitions.push(Diagnostic::note(codes::AVAILABLE, ready.message.clone()));
    }
    transitions
}

fn is_same(before: Option<&Operation>, after: &Operation) -> bool {
    let identity = |operation: &Operation| {
        (operation.record.phase, operation.record.generation, operation.record.attempt)
    };
    before.map(identity) == Some(identity(after))
}

/// The condition, if it is true now and was not, or was for another reason.
fn became_true<'a>(kind: ConditionType, before: &Status, after: &'a Status) -> Option<&'a Condition> {
    let is_true = |condition: &&Condition| condition.status == ConditionStatus::True;
    let now = after.condition(kind).filter(is_true)?;
    let was = before.condition(kind).filter(is_true);
    was.is_none_or(|was| was.reason != now.reason).then_some(now)
}
