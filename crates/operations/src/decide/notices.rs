//! What people should hear of: the transitions between two statuses, each said once.

use diag::Diagnostic;

use super::Desired;
use crate::codes;
use crate::condition::{Condition, ConditionStatus, ConditionType};
use crate::operation::Operation;
use crate::status::Status;

/// The transitions from `before` to `after`. A status that only moved along (a percentage, a message) is silent.
pub(super) fn between(desired: &Desired, before: &Status, after: &Status) -> Vec<Diagnostic> {
    let kind = desired.kind.name;
    let mut notices = Vec::new();
    if let Some(operation) = after.current().filter(|operation| !is_same(before.current(), operation)) {
        let phase = operation.phase.as_str();
        notices.push(Diagnostic::note(codes::OPERATION_STARTED, format!("{kind} {phase} is in flight")));
    }
    if let Some(stalled) = became(ConditionType::Stalled, ConditionStatus::True, before, after) {
        let code = match stalled.reason.as_str() {
            "DeadlineExceeded" => codes::DEADLINE_EXCEEDED,
            "Failed" | "Canceled" => codes::OPERATION_FAILED,
            "EndpointSecret" => codes::ENDPOINT_SECRET,
            _ => codes::OPERATION_STALLED,
        };
        notices.push(Diagnostic::warning(code, stalled.message.clone()).field("status.conditions"));
    }
    if let Some(retrying) = became(ConditionType::Progressing, ConditionStatus::True, before, after)
        && retrying.reason == "Retrying"
    {
        notices.push(Diagnostic::warning(codes::RETRYING, retrying.message.clone()));
    }
    if let Some(ready) = became(ConditionType::Ready, ConditionStatus::True, before, after) {
        notices.push(Diagnostic::note(codes::AVAILABLE, ready.message.clone()));
    }
    notices
}

fn is_same(before: Option<&Operation>, after: &Operation) -> bool {
    before.is_some_and(|before| {
        (before.phase, before.generation, before.attempt) == (after.phase, after.generation, after.attempt)
    })
}

/// The condition, if it has this status now and had another status or another reason before.
fn became<'a>(
    kind: ConditionType,
    status: ConditionStatus,
    before: &Status,
    after: &'a Status,
) -> Option<&'a Condition> {
    let now = after.condition(kind).filter(|condition| condition.status == status)?;
    let was = before.condition(kind).filter(|condition| condition.status == status);
    was.is_none_or(|was| was.reason != now.reason).then_some(now)
}
