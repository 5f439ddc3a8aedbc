//! What to do next about one object: a function of what is wanted, what is written down and what was just learned.
//!
//! The shell that calls it has no choices to make: it stores `status` if it changed (with a precondition on the
//! version it read), does `next`, and comes back with the outcome. Storing comes before doing, so the intent of every
//! mutation is on record before its effect. Every [`Next`] either does something, names a time to come back, or
//! lets go of the object with the evidence for it; "nothing, and no wake-up" cannot be written.

mod answers;
mod gate;
mod listing;
mod look;
mod notices;
mod publish;
mod resource;
mod setback;

use std::time::Duration;

use diag::Diagnostic;
use jiff::Timestamp;
use serde_json::Value;

use crate::observation::{Event, Observation};
use crate::schedule::{self, Jitter, Settings};
use crate::service::{Call, Kind};
use crate::status::Status;
use crate::wishes::Wishes;

/// What is wanted of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// What kind it is.
    pub kind: Kind,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// The body a create would send now.
    pub body: Value,
    /// Whether the object is being deleted.
    pub deleting: bool,
    /// Whether our finalizer is on it.
    pub held: bool,
    /// What its annotations ask for.
    pub wishes: Wishes,
    /// Why applications cannot be told where the resource is, for people; an object is not ready before they are.
    pub obstacle: Option<String>,
}

/// What is worth remembering and may be forgotten at any time: a restart begins with an empty one and is only
/// slower for it, never wrong. It belongs to one term of leadership; a leader that comes back begins anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// When the resource was last seen; unknown counts as just now.
    last_seen: Option<Timestamp>,
    /// How many calls in a row met trouble that passes.
    failures: u32,
}

/// The time, and a bit of chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// The time.
    pub now: Timestamp,
    /// Spreads wake-ups.
    pub jitter: Jitter,
}

/// What to store and what to do then.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Step {
    /// The status to store before anything is done; equal to the old one when nothing changed.
    pub status: Status,
    /// What to bring along to the next decision.
    pub memory: Memory,
    /// What to do.
    pub next: Next,
    /// What people should hear of: transitions, each said once.
    pub diagnostics: Vec<Diagnostic>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Put our finalizer on the object, then decide again.
    Hold,
    /// Make this call now and come back with its answer.
    Call(Call),
    /// Come back when this much time has passed, or sooner if the object changes.
    Wait(Duration),
    /// Take our finalizer off; there is nothing left to wait for, because of this.
    Release(Evidence),
}

/// Why an object may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// The work request of our delete succeeded.
    WorkRequestSucceeded,
    /// The resource was seen in its deleted state.
    SeenDeleted,
    /// A full listing lacks the resource, and it was last seen longer ago than the grace.
    AbsentFromListing,
    /// No create was ever written down, so none was sent.
    NeverCreated,
    /// The resource belongs to another object.
    HeldByAnother,
    /// The deletion policy is to leave the resource alone.
    Retained,
    /// A person said so with the release annotation.
    AskedTo,
    /// The object does not carry our finalizer.
    NotHeld,
}

/// Decides what to do next about an object.
pub fn decide(
    desired: &Desired,
    status: &Status,
    memory: &Memory,
    observation: Observation,
    settings: &Settings,
    moment: Moment,
) -> Step {
    let mut decision = Decision {
        desired,
        settings,
        before: status,
        status: status.clone(),
        memory: memory.clone(),
        now: schedule::whole_seconds(moment.now),
        jitter: moment.jitter,
        diagnostics: Vec::new(),
    };
    decision.mend_times();
    let next = match observation.0 {
        Event::Woke => decision.look(),
        Event::Answered { call, headers, learned } => decision.learn(&call, &headers, learned),
        Event::Failed { call, trouble } => decision.suffer(call, &trouble),
    };
    decision.conclude(next)
}

/// A decision in the making.
struct Decision<'a> {
    desired: &'a Desired,
    settings: &'a Settings,
    before: &'a Status,
    status: Status,
    memory: Memory,
    now: Timestamp,
    jitter: Jitter,
    diagnostics: Vec<Diagnostic>,
}

impl Decision<'_> {
    /// Makes stored times usable: one in the future tells of a clock that was set back, and counts as now, or a
    /// pause of minutes would last until that clock catches up; an operation that an older operator left has no
    /// start and no deadline yet.
    fn mend_times(&mut self) {
        let now = self.now;
        if let Some(current) = &mut self.status.status.tracker.current {
            let started = current.started_at.unwrap_or(current.updated_at);
            if started > now || current.started_at.is_none() || current.deadline.is_none() {
                let started = started.min(now);
                current.started_at = Some(started);
                current.deadline = Some(schedule::after(started, self.settings.operation_deadline));
            }
        }
        if let Some(last) = &mut self.status.status.tracker.last_operation {
            last.finished_at = last.finished_at.min(now);
        }
        let created = self.status.status.created_at.map(|created| created.min(now));
        self.status.status.created_at = created;
        // What another leader wrote down is news of the resource, too: when it was bound, and when its operation last
        // moved. A resource need not be visible before its operation is over.
        let moved = self.status.current().map(|current| current.updated_at.min(now));
        self.memory.last_seen = Some(self.memory.last_seen.unwrap_or(now).min(now)).max(created).max(moved);
    }

    fn conclude(mut self, next: Next) -> Step {
        if matches!(next, Next::Release(evidence) if evidence.proves_absence()) {
            self.status.status.deleted_at = Some(self.now);
        }
        if self.status != *self.before {
            self.status.status.requested_at.get_or_insert(self.now);
        }
        self.status.stamp(self.before, self.now);
        self.diagnostics.extend(notices::between(self.desired, self.before, &self.status));
        Step { status: self.status, memory: self.memory, next, diagnostics: self.diagnostics }
    }
}

impl Evidence {
    /// Whether the resource is known to be gone, rather than let go of.
    pub const fn proves_absence(self) -> bool {
        match self {
            Self::WorkRequestSucceeded | Self::SeenDeleted | Self::AbsentFromListing | Self::NeverCreated => {
                true
            }
            Self::HeldByAnother | Self::Retained | Self::AskedTo | Self::NotHeld => false,
        }
    }
}
