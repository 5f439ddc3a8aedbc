//! When the next attempt may be made, and which number it has.

use jiff::Timestamp;

use super::{Decision, Next};
use crate::operation::{Class, LastOperation, Operation, Phase};
use crate::schedule::{after, elapsed, slow};
use crate::token::retry_token;

impl Decision<'_> {
    /// The time before which an operation of this phase is not attempted, if there is one: the last one ended badly,
    /// or it succeeded and the very same change is needed again. A new generation opens every gate but that of
    /// delete, which no spec can change.
    pub(super) fn gate(&self, phase: Phase, body_hash: Option<&str>) -> Option<Timestamp> {
        let last = self.status.last_operation().filter(|last| last.phase == phase)?;
        if phase != Phase::Delete && last.generation != Some(self.desired.generation) {
            return None;
        }
        let closed = match last.normalized_class {
            Class::Succeeded => {
                phase == Phase::Update && body_hash.is_some() && last.body_hash.as_deref() == body_hash
            }
            _ => true,
        };
        let opens = after(last.finished_at, slow(self.settings, last.fruitless));
        (closed && self.now < opens).then_some(opens)
    }

    pub(super) fn wait_until(&self, time: Timestamp) -> Next {
        Next::Wait(self.jitter.later(elapsed(self.now, time)))
    }

    /// A new operation of ours, numbered so that no token is ever used for two attempts.
    pub(super) fn new_operation(&self, phase: Phase) -> Operation {
        let generation = self.desired.generation;
        let attempt = self.attempts_so_far() + 1;
        let tokens = self.desired.kind.retry_tokens && phase == Phase::Create;
        Operation {
            started_at: Some(self.now),
            generation: Some(generation),
            attempt: Some(attempt),
            token: tokens.then(|| retry_token(&self.desired.uid, generation, attempt)),
            deadline: Some(after(self.now, self.settings.operation_deadline)),
            ..Operation::pending(self.desired.kind.strategy.source(), phase, self.now)
        }
    }

    /// The highest number that an operation of this generation has had.
    pub(super) fn attempts_so_far(&self) -> u32 {
        let generation = Some(self.desired.generation);
        let current = self.status.current().filter(|current| current.generation == generation);
        let last = self.status.last_operation().filter(|last| last.generation == generation);
        current.and_then(|op| op.attempt).max(last.and_then(|op| op.attempt)).unwrap_or(0)
    }

    /// Ends the operation in flight: its outcome is recorded and its handle released.
    pub(super) fn record(&mut self, outcome: Class, message: Option<String>) {
        let Some(operation) = self.status.status.tracker.current.take() else { return };
        let generation = operation.generation.or(Some(self.desired.generation));
        let last = self.status.last_operation().filter(|last| last.generation == generation);
        let before = last.map_or(0, |last| last.fruitless);
        let again = last.is_some_and(|last| {
            (last.phase, &last.body_hash) == (operation.phase, &operation.body_hash)
                && last.normalized_class == Class::Succeeded
        });
        let fruitless = match (outcome, operation.phase) {
            // What a failed create left behind is removed before the next one: that is no progress either.
            (Class::Succeeded, Phase::Delete) => before,
            (Class::Succeeded, Phase::Update) if again => before + 1,
            (Class::Succeeded, _) => 0,
            _ => before + 1,
        };
        self.status.status.tracker.last_operation = Some(LastOperation {
            phase: operation.phase,
            normalized_class: outcome,
            work_request_id: operation.work_request_id,
            raw_status: operation.raw_status,
            raw_operation_type: operation.raw_operation_type,
            message,
            generation,
            attempt: operation.attempt,
            body_hash: operation.body_hash,
            started_at: operation.started_at,
            finished_at: self.now,
            fruitless,
        });
    }

    /// Whether the resource is what a create that failed left behind, rather than something that once worked.
    pub(super) fn is_leftover(&self) -> bool {
        self.status.last_operation().is_some_and(|last| match last.phase {
            Phase::Create => last.normalized_class != Class::Succeeded,
            Phase::Update => false,
            // An object that is not being deleted deletes nothing but leftovers.
            Phase::Delete => true,
        })
    }

    /// The create in flight.
    pub(super) fn create_in_flight(&self) -> Option<&Operation> {
        self.status.current().filter(|current| current.phase == Phase::Create)
    }
}
