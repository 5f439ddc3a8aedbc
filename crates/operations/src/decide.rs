//! What to do next about one object, given what is desired, what is on record and what was just observed.
//!
//! The shell that calls [`decide`] makes no choices: it stores `status` if it changed (with a precondition on the
//! version it read), performs `action`, and calls again with the result. Storing comes first, so the intent of every
//! mutation is on record before its effect. Every [`Action`] does something, names a time to come back, or removes the
//! finalizer for a reason; "do nothing and never wake up" cannot be expressed.

mod attempts;
mod failure;
mod identity;
mod listing;
mod observe;
mod publish;
mod resource;
mod response;
mod transitions;
mod unshown;

use std::collections::BTreeMap;
use std::time::Duration;

use backoff::Jitter;
use diag::Diagnostic;
use jiff::Timestamp;
use serde_json::Value;

use crate::annotations::Annotations;
use crate::binding::{Identity, Scope};
use crate::observation::{Observation, Observed};
use crate::policy::Policy;
use crate::schedule::{self, Schedule};
use crate::service::{Call, Kind, Unshown};
use crate::status::Status;

/// What the object asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    pub kind: Kind,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// Whether the object was created during this term of leadership. An older one may have a past that it does not show:
    /// restoring the cluster's data from a backup undoes records and finalizers, and no resource.
    pub created_in_term: bool,
    /// The body that a create would send now.
    pub body: Value,
    /// What it asks for where the provider does not show it: by field, or by path below a field what cannot be changed. None for
    /// a kind that shows everything.
    pub unshown: Option<BTreeMap<String, Unshown>>,
    /// Why such a create cannot be sent yet: a Secret is missing.
    pub missing_secret: Option<String>,
    /// Why an update of a field cannot be sent yet, by field: a Secret is missing.
    pub missing_in_updates: BTreeMap<String, String>,
    /// The listing that shows what such a create makes.
    pub scope: Scope,
    /// Where calls go and as whom; none if that is unknown, so that no call can be made, or if the provider has one place
    /// and one user.
    pub identity: Option<Identity>,
    pub policy: Policy,
    /// Whether the object has a deletion timestamp.
    pub deleting: bool,
    /// Whether our finalizer is on the object.
    pub has_finalizer: bool,
    pub annotations: Annotations,
    /// Why the endpoint Secret cannot be written. An object whose endpoint applications cannot read is not ready.
    pub endpoint_error: Option<String>,
}

/// What the operator keeps in memory about an object. Losing it is safe: a restart is only slower, never wrong. It
/// belongs to one term of leadership; a leader that comes back starts with an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalState {
    /// When the resource was last seen; unknown counts as now.
    last_seen: Option<Timestamp>,
    /// Whether the object has had our finalizer or a record before.
    was_managed: bool,
    history: History,
    /// Whether the last decision left a record.
    has_record: bool,
    /// Consecutive calls that failed with a transient error.
    failures: u32,
}

/// What this term of leadership knows of the creates that were ever sent for an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum History {
    /// The object is older than the term, or its record was undone: there may be a resource that no record names.
    #[default]
    Unknown,
    /// The object came in this term, with neither finalizer nor record, and no create was sent.
    NothingSent,
    /// The object came in this term, and every create that was sent for it is on record.
    Recorded,
}

/// The time of a decision, and a random share that spreads requeues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Now {
    pub time: Timestamp,
    pub jitter: Jitter,
}

/// What to store, and what to do after that.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Step {
    /// The status to store before anything is done; equal to the old one when nothing changed.
    pub status: Status,
    /// What to pass to the next decision.
    pub local: LocalState,
    pub action: Action,
    /// Transitions to report as events, each of them once.
    pub diagnostics: Vec<Diagnostic>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Add our finalizer, then decide again.
    AddFinalizer,
    /// Make this call now and decide again with its result.
    Call(Call),
    /// Decide again after this delay, or sooner if the object changes.
    Requeue(Duration),
    /// Remove our finalizer: there is nothing left to wait for.
    RemoveFinalizer(FinalizeReason),
}

/// Why the finalizer may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FinalizeReason {
    /// The work request of our delete succeeded.
    WorkRequestSucceeded,
    /// The provider shows the resource as deleted.
    ObservedDeleted,
    /// The provider has accepted the deletion and makes it later.
    DeletionScheduled,
    /// A full listing lacks the resource, and it was last seen longer ago than the create grace.
    AbsentFromListing,
    /// No create is on record, so none was sent.
    NeverCreated,
    /// The resource belongs to another object.
    HeldByAnother,
    /// The deletion policy is `Retain`.
    Retained,
    /// The user set the release annotation.
    ReleaseRequested,
    /// The object does not carry our finalizer.
    NoFinalizer,
}

impl FinalizeReason {
    /// Whether the resource is known to be gone, rather than left behind.
    pub const fn proves_absence(self) -> bool {
        match self {
            Self::WorkRequestSucceeded
            | Self::ObservedDeleted
            | Self::AbsentFromListing
            | Self::NeverCreated => true,
            Self::DeletionScheduled
            | Self::HeldByAnother
            | Self::Retained
            | Self::ReleaseRequested
            | Self::NoFinalizer => false,
        }
    }
}

/// Decides what to do next about an object.
pub fn decide(
    desired: &Desired,
    status: &Status,
    local: &LocalState,
    observation: Observation,
    schedule: &Schedule,
    now: Now,
) -> Step {
    let mut decision = Decision {
        desired,
        schedule,
        before: status,
        status: status.clone(),
        local: local.clone(),
        now: schedule::whole_seconds(now.time),
        jitter: now.jitter,
        diagnostics: Vec::new(),
    };
    decision.notice_restore();
    decision.normalize_times();
    let action = match observation.0 {
        Observed::Nothing => decision.observe(),
        Observed::Response { call, response } => decision.on_response(&call, response),
        Observed::Failure { call, error } => decision.on_failure(call, &error),
    };
    decision.finish(action)
}

/// A decision in progress.
struct Decision<'a> {
    desired: &'a Desired,
    schedule: &'a Schedule,
    before: &'a Status,
    status: Status,
    local: LocalState,
    now: Timestamp,
    jitter: Jitter,
    diagnostics: Vec<Diagnostic>,
}

impl Decision<'_> {
    /// A record that is gone although no decision removed it was undone by a restore of the cluster's data.
    fn notice_restore(&mut self) {
        if self.local.has_record && !self.has_record() {
            self.local.history = History::Unknown;
        }
    }

    /// Makes stored times usable. A time in the future means that the clock was set back; it counts as now, or a delay
    /// of minutes would last until the clock catches up. An operation left by OSOK has no start and no deadline yet.
    fn normalize_times(&mut self) {
        let now = self.now;
        if let Some(current) = &mut self.status.status.tracker.current {
            let started = current.record.started_at.unwrap_or(current.updated_at);
            if started > now || current.record.started_at.is_none() || current.deadline.is_none() {
                let started = started.min(now);
                current.record.started_at = Some(started);
                current.deadline = Some(schedule::after(started, self.schedule.operation_deadline));
            }
        }
        if let Some(last) = &mut self.status.status.tracker.last_operation {
            last.finished_at = last.finished_at.min(now);
        }
        let created = self.status.status.created_at.map(|created| created.min(now));
        self.status.status.created_at = created;
        // What another leader recorded is also news of the resource: when it was bound, and when its operation last
        // moved. A resource need not be visible before its operation is over.
        let moved = self.status.current().map(|current| current.updated_at.min(now));
        self.local.last_seen = Some(self.local.last_seen.unwrap_or(now).min(now)).max(created).max(moved);
    }

    fn finish(mut self, action: Action) -> Step {
        if matches!(action, Action::RemoveFinalizer(reason) if reason.proves_absence()) {
            self.status.status.deleted_at = Some(self.now);
        }
        if self.status != *self.before {
            self.status.status.requested_at.get_or_insert(self.now);
        }
        self.status.stamp(self.before, self.now);
        self.local.has_record = self.has_record();
        self.local.was_managed |= self.desired.has_finalizer || self.local.has_record;
        self.diagnostics.extend(transitions::between(self.desired, self.before, &self.status));
        Step { status: self.status, local: self.local, action, diagnostics: self.diagnostics }
    }
}
