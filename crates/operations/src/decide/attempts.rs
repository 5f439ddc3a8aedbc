//! When the next attempt of an operation may start, which number it gets, and how the last one ended.

use jiff::Timestamp;

use super::{Action, Decision};
use crate::operation::{Class, LastOperation, Operation, OperationRecord, Phase};
use crate::outcome::StallReason;
use crate::schedule::{after, elapsed, slow};
use crate::token::retry_token;

impl Decision<'_> {
    /// The time before which an operation of this phase is not attempted, if any: the last one failed, or it succeeded
    /// and the very same change is needed again. A new generation is tried at once, except for a delete, which no
    /// spec can change.
    pub(super) fn retry_at(&self, phase: Phase, body_hash: Option<&str>) -> Option<Timestamp> {
        let last = self.status.last_operation().filter(|last| last.record.phase == phase)?;
        if phase != Phase::Delete && last.record.generation != Some(self.desired.generation) {
            return None;
        }
        let same_change =
            phase == Phase::Update && body_hash.is_some() && last.record.body_hash.as_deref() == body_hash;
        let backs_off = last.record.normalized_class != Class::Succeeded || same_change;
        let time = after(last.finished_at, slow(self.schedule, last.fruitless));
        (backs_off && self.now < time).then_some(time)
    }

    pub(super) fn requeue_at(&self, time: Timestamp) -> Action {
        Action::Requeue(self.jitter.later(elapsed(self.now, time)))
    }

    /// A new operation, numbered so that no token is ever used for two attempts.
    pub(super) fn new_operation(&self, phase: Phase) -> Operation {
        let generation = self.desired.generation;
        let attempt = self.attempts_so_far() + 1;
        let has_token = self.desired.kind.retry_tokens && phase == Phase::Create;
        let mut operation = Operation::pending(self.desired.kind.strategy.source(), phase, self.now);
        operation.record.started_at = Some(self.now);
        operation.record.generation = Some(generation);
        operation.record.attempt = Some(attempt);
        operation.token = has_token.then(|| retry_token(&self.desired.uid, generation, attempt));
        operation.deadline = Some(after(self.now, self.schedule.operation_deadline));
        operation
    }

    /// The highest attempt number of this generation.
    pub(super) fn attempts_so_far(&self) -> u32 {
        let current = self.status.current().map(|current| &current.record);
        let last = self.status.last_operation().map(|last| &last.record);
        let of_generation = |record: &&OperationRecord| record.generation == Some(self.desired.generation);
        let records = current.into_iter().chain(last).filter(of_generation);
        records.filter_map(|record| record.attempt).max().unwrap_or(0)
    }

    /// Ends the operation in flight without success and requeues for its next attempt.
    pub(super) fn end_operation(&mut self, class: Class, reason: StallReason, message: &str) -> Action {
        let phase = self.status.current().map(|current| current.record.phase);
        self.record(class, Some(message.to_owned()));
        match phase.and_then(|phase| self.retry_at(phase, None)) {
            Some(time) => self.stalled_until(time, reason, message),
            None => self.stalled(reason, message),
        }
    }

    /// Ends the operation in flight: its result is recorded and its work request is no longer followed.
    pub(super) fn record(&mut self, class: Class, message: Option<String>) {
        if class == Class::Succeeded {
            self.remember_sent();
        }
        let Some(operation) = self.status.status.tracker.current.take() else { return };
        self.settle_sent(&operation, class);
        let record = operation.record;
        let generation = record.generation.or(Some(self.desired.generation));
        let last = self.status.last_operation().filter(|last| last.record.generation == generation);
        let before = last.map_or(0, |last| last.fruitless);
        let is_repeat = last.is_some_and(|last| {
            (last.record.phase, &last.record.body_hash) == (record.phase, &record.body_hash)
                && last.record.normalized_class == Class::Succeeded
        });
        let fruitless = match (class, record.phase) {
            // What a failed create left behind is deleted before the next create; that is not progress either.
            (Class::Succeeded, Phase::Delete) => before,
            (Class::Succeeded, Phase::Update) if is_repeat => before + 1,
            (Class::Succeeded, _) => 0,
            _ => before + 1,
        };
        self.status.status.tracker.last_operation = Some(LastOperation {
            record: OperationRecord { normalized_class: class, message, generation, ..record },
            finished_at: self.now,
            fruitless,
        });
    }

    /// Whether the resource is what a failed create left behind, rather than something that once worked.
    pub(super) fn is_leftover(&self) -> bool {
        self.status.last_operation().is_some_and(|last| match last.record.phase {
            Phase::Create => last.record.normalized_class != Class::Succeeded,
            Phase::Update => false,
            // An object that is not being deleted deletes nothing but leftovers.
            Phase::Delete => true,
        })
    }

    pub(super) fn create_in_flight(&self) -> Option<&Operation> {
        self.status.current().filter(|current| current.record.phase == Phase::Create)
    }
}
