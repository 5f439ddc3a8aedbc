//! Writing the outcome of a decision into the status, in both of its languages.

use std::time::Duration;

use jiff::Timestamp;

use super::{Decision, Next};
use crate::condition::{ConditionStatus, ConditionType};
use crate::mapping::{Cause, Situation, project};
use crate::operation::{Class, Operation, Phase};
use crate::schedule::{backoff, elapsed, slow_since};
use crate::trouble::Trouble;

/// The longest message we publish; a provider's error can be a whole page.
const LONGEST: usize = 512;

impl Decision<'_> {
    /// The operation in flight goes on: publish it and look again at the usual pace.
    pub(super) fn in_flight(&mut self, message: Option<String>, retry_after: Option<Duration>) -> Next {
        self.publish_in_flight(message);
        self.wait_poll(retry_after)
    }

    pub(super) fn publish_in_flight(&mut self, message: Option<String>) {
        let message = message.map(|text| bounded(&text));
        let overdue = self.is_overdue();
        let Some(current) = &mut self.status.status.tracker.current else { return };
        // A delete that succeeded is in flight until its absence is confirmed; anything else in flight is pending.
        if (current.normalized_class, current.phase) != (Class::Succeeded, Phase::Delete) {
            current.normalized_class = Class::Pending;
        }
        let (class, phase) = (current.normalized_class, current.phase);
        current.message.clone_from(&message);
        let message = message.unwrap_or_else(|| project(class, Some(phase)).message);
        self.status.publish_shared(class, Some(phase), Some(&message), self.now);
        let situation = if overdue { Situation::Overdue(phase) } else { Situation::InFlight(phase) };
        self.status.publish(situation, &message, self.desired.generation, self.now);
    }

    /// Nothing to do at the provider, and the resource is as asked. A message that tells how it became so is kept.
    pub(super) fn idle(&mut self, finished: Option<Phase>) -> Next {
        if let Some(obstacle) = &self.desired.obstacle {
            return self.stuck(Cause::EndpointSecret, obstacle);
        }
        let active = project(Class::Succeeded, None).condition.as_str();
        if finished.is_some() || self.status.status.reason.as_deref() != Some(active) {
            self.status.publish_shared(Class::Succeeded, finished, None, self.now);
        }
        let message = format!("{} is as its spec asks", self.desired.kind.name);
        self.status.publish(Situation::Idle, &message, self.desired.generation, self.now);
        Next::Wait(self.jitter.sooner(self.settings.drift_interval))
    }

    /// It gets no further by itself: publish why and come back on the slow schedule.
    pub(super) fn stuck(&mut self, cause: Cause, message: &str) -> Next {
        self.publish_stuck(cause, message);
        let wrong_since = self
            .before
            .condition(ConditionType::Stalled)
            .filter(|stalled| stalled.status == ConditionStatus::True)
            .map_or(self.now, |stalled| stalled.last_transition_time);
        let pause = slow_since(self.settings, elapsed(wrong_since, self.now));
        Next::Wait(self.jitter.later(pause))
    }

    /// It gets no further before `gate`.
    pub(super) fn stuck_until(&mut self, gate: Timestamp, cause: Cause, message: &str) -> Next {
        self.publish_stuck(cause, message);
        self.wait_until(gate)
    }

    pub(super) fn publish_stuck(&mut self, cause: Cause, message: &str) {
        let message = bounded(message);
        let mut class = cause.class();
        if let Some(current) = &mut self.status.status.tracker.current {
            // What is still tracked has not ended: only the provider's word for it ends an operation, and then it is
            // recorded and no longer tracked.
            if matches!(class, Class::Failed | Class::Canceled) {
                class = Class::Unknown;
            }
            current.normalized_class = class;
            current.message = Some(message.clone());
        }
        let phase = self.status.current().map(|current| current.phase);
        self.status.publish_shared(class, phase, Some(&message), self.now);
        self.status.publish(Situation::Stuck(cause), &message, self.desired.generation, self.now);
    }

    /// The last operation ended badly and its gate is still closed: say again how it ended.
    pub(super) fn stuck_as_recorded(&mut self, gate: Timestamp) -> Next {
        let Some(last) = self.status.last_operation() else { return self.wait_until(gate) };
        let (cause, message) = match last.normalized_class {
            Class::Canceled => (Cause::Canceled, last.message.clone()),
            Class::Succeeded => {
                let name = self.desired.kind.name;
                let message = format!("{name} still differs from its spec after an update that succeeded");
                (Cause::Attention, Some(message))
            }
            _ => (Cause::Failed, last.message.clone()),
        };
        let message = message.unwrap_or_else(|| project(cause.class(), Some(last.phase)).message);
        self.stuck_until(gate, cause, &message)
    }

    /// A call met trouble that passes: whatever is in flight stays so, and the call is made again soon.
    pub(super) fn retrying(&mut self, what: &str, trouble: &Trouble) -> Next {
        self.memory.failures = self.memory.failures.saturating_add(1);
        self.status.correlate(trouble.request_id.as_deref());
        let message = bounded(&format!("{what}: {trouble}; trying again"));
        let overdue = self.is_overdue();
        let mut situation = Situation::Retrying;
        if let Some(current) = &mut self.status.status.tracker.current {
            current.message = Some(message.clone());
            let (class, phase) = (current.normalized_class, current.phase);
            self.status.publish_shared(class, Some(phase), Some(&message), self.now);
            if overdue {
                situation = Situation::Overdue(phase);
            }
        }
        self.status.publish(situation, &message, self.desired.generation, self.now);
        Next::Wait(backoff(self.memory.failures, trouble.retry_after, self.jitter))
    }

    pub(super) fn is_overdue(&self) -> bool {
        self.status.current().and_then(|current| current.deadline).is_some_and(|deadline| deadline < self.now)
    }

    /// The operation that the tracker shows from now on.
    pub(super) fn track(&mut self, operation: Operation) {
        self.status.status.tracker.current = Some(operation);
    }
}

/// One line of bounded length: control characters from a provider's text have no place in a status.
fn bounded(text: &str) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}
