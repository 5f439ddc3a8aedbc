//! Publishing the outcome of a decision: the tracker, OSOK's conditions, and `Ready`, `Progressing` and `Stalled`.

use std::time::Duration;

use jiff::Timestamp;

use super::{Action, Decision};
use crate::call_error::CallError;
use crate::condition::{ConditionStatus, ConditionType, SharedConditionType};
use crate::operation::{Class, Operation, Phase};
use crate::outcome::{Outcome, StallReason, shared_condition};
use crate::schedule::{backoff, elapsed, slow_since};

/// The longest message to publish; a provider's error can be a whole page.
const MAX_MESSAGE: usize = 512;

impl Decision<'_> {
    /// The operation in flight goes on: publishes it and polls again.
    pub(super) fn in_flight(&mut self, message: Option<String>, retry_after: Option<Duration>) -> Action {
        self.publish_in_flight(message);
        self.requeue_poll(retry_after)
    }

    pub(super) fn publish_in_flight(&mut self, message: Option<String>) {
        let message = message.map(|text| one_line(&text));
        let overdue = self.is_overdue();
        let Some(current) = &mut self.status.status.tracker.current else { return };
        let record = &mut current.record;
        // A delete that succeeded is in flight until its absence is confirmed; anything else in flight is pending.
        if (record.normalized_class, record.phase) != (Class::Succeeded, Phase::Delete) {
            record.normalized_class = Class::Pending;
        }
        let (class, phase) = (record.normalized_class, record.phase);
        record.message.clone_from(&message);
        let message = message.unwrap_or_else(|| shared_condition(class, Some(phase)).1);
        self.status.publish_shared(class, Some(phase), Some(&message), self.now);
        let outcome = if overdue { Outcome::Overdue(phase) } else { Outcome::InFlight(phase) };
        self.status.publish(outcome, &message, self.desired.generation, self.now);
    }

    /// The resource matches the spec. A message that says how it got there is kept.
    pub(super) fn ready(&mut self, finished: Option<Phase>) -> Action {
        if let Some(error) = &self.desired.endpoint_error {
            return self.stalled(StallReason::EndpointSecret, error);
        }
        let active = SharedConditionType::Active.as_str();
        if finished.is_some() || self.status.status.reason.as_deref() != Some(active) {
            self.status.publish_shared(Class::Succeeded, finished, None, self.now);
        }
        let message = format!("{} matches its spec", self.desired.kind.name);
        self.status.publish(Outcome::Ready, &message, self.desired.generation, self.now);
        Action::Requeue(self.jitter.sooner(self.schedule.drift_interval))
    }

    /// The object makes no progress by itself: publishes why and retries on the slow schedule.
    pub(super) fn stalled(&mut self, reason: StallReason, message: &str) -> Action {
        self.publish_stalled(reason, message);
        let delay = slow_since(self.schedule, self.stalled_for());
        Action::Requeue(self.jitter.later(delay))
    }

    fn stalled_for(&self) -> Duration {
        let stalled = self.before.condition(ConditionType::Stalled);
        let since = stalled.filter(|it| it.status == ConditionStatus::True).map(|it| it.last_transition_time);
        elapsed(since.unwrap_or(self.now), self.now)
    }

    pub(super) fn stalled_until(&mut self, time: Timestamp, reason: StallReason, message: &str) -> Action {
        self.publish_stalled(reason, message);
        self.requeue_at(time)
    }

    pub(super) fn publish_stalled(&mut self, reason: StallReason, message: &str) {
        let message = one_line(message);
        let mut class = reason.class();
        if let Some(current) = &mut self.status.status.tracker.current {
            // What is still tracked has not ended: only the provider's word ends an operation, and then it is recorded
            // and no longer tracked.
            if matches!(class, Class::Failed | Class::Canceled) {
                class = Class::Unknown;
            }
            current.record.normalized_class = class;
            current.record.message = Some(message.clone());
        }
        let phase = self.status.current().map(|current| current.record.phase);
        self.status.publish_shared(class, phase, Some(&message), self.now);
        self.status.publish(Outcome::Stalled(reason), &message, self.desired.generation, self.now);
    }

    /// The last operation failed and is not retried before `time`: publishes its result again.
    pub(super) fn stalled_by_last_operation(&mut self, time: Timestamp) -> Action {
        let Some(last) = self.status.last_operation() else { return self.requeue_at(time) };
        let record = &last.record;
        let (reason, message) = match record.normalized_class {
            Class::Canceled => (StallReason::Canceled, record.message.clone()),
            Class::Succeeded => {
                let name = self.desired.kind.name;
                let message = format!("{name} still differs from its spec after an update that succeeded");
                (StallReason::Attention, Some(message))
            }
            _ => (StallReason::Failed, record.message.clone()),
        };
        let message = message.unwrap_or_else(|| shared_condition(reason.class(), Some(record.phase)).1);
        self.stalled_until(time, reason, &message)
    }

    /// A call failed with a transient error: what is in flight stays so, and the call is retried with backoff.
    pub(super) fn retrying(&mut self, message: &str, error: &CallError) -> Action {
        self.local.failures = self.local.failures.saturating_add(1);
        self.status.set_request_id(error.request_id.as_deref());
        let message = one_line(&format!("{message}; retrying"));
        let overdue = self.is_overdue();
        let mut outcome = Outcome::Retrying;
        if let Some(Operation { record, .. }) = &mut self.status.status.tracker.current {
            record.message = Some(message.clone());
            let (class, phase) = (record.normalized_class, record.phase);
            self.status.publish_shared(class, Some(phase), Some(&message), self.now);
            if overdue {
                outcome = Outcome::Overdue(phase);
            }
        }
        self.status.publish(outcome, &message, self.desired.generation, self.now);
        Action::Requeue(backoff(self.local.failures, error.retry_after, self.jitter))
    }

    pub(super) fn is_overdue(&self) -> bool {
        self.status.current().and_then(|current| current.deadline).is_some_and(|deadline| deadline < self.now)
    }

    pub(super) fn track(&mut self, operation: Operation) {
        self.status.status.tracker.current = Some(operation);
    }
}

/// One line of bounded length: control characters of a provider's text have no place in a status.
fn one_line(text: &str) -> String {
    let mut line: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_MESSAGE).collect();
    if text.chars().nth(MAX_MESSAGE).is_some() {
        line.push('…');
    }
    line
}
