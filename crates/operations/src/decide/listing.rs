//! What a full listing shows: the only read that can prove that something is not there.

use std::time::Duration;

use diag::Diagnostic;
use jiff::Timestamp;

use super::observe::get;
use super::{Action, Decision, FinalizeReason, History};
use crate::binding::Scope;
use crate::codes;
use crate::lifecycle::Lifecycle;
use crate::operation::Phase;
use crate::outcome::StallReason;
use crate::schedule::{elapsed, poll};
use crate::service::Resource;
use crate::token::body_hash;

impl Decision<'_> {
    /// A full listing: these resources, and this many work requests that may still be creating ours.
    pub(super) fn on_listing(&mut self, listed: &Scope, resources: &[Resource], creating: usize) -> Action {
        let mut owned: Vec<&Resource> = resources
            .iter()
            .filter(|resource| resource.owner.as_deref() == Some(self.desired.uid.as_str()))
            .filter(|resource| {
                !matches!(self.lifecycle(resource), Some(Lifecycle::Deleted | Lifecycle::Scheduled))
            })
            .collect();
        // Working resources come first, so that the leftover of a failed create does not hide a living one.
        owned.sort_by_key(|resource| {
            (self.lifecycle(resource) == Some(Lifecycle::Failed), resource.id.clone())
        });
        if let Some(id) = self.status.ocid() {
            return match resources.iter().find(|resource| resource.id == id) {
                Some(resource) if self.lifecycle(resource) == Some(Lifecycle::Deleted) => self.on_deleted(),
                Some(resource) => get(&resource.id, true),
                None => self.bound_but_not_listed(owned.first().copied()),
            };
        }
        match owned.as_slice() {
            // Without an intent on record nothing was sent, and what others create is not our concern.
            [] if creating > 0 && self.create_in_flight().is_some() => {
                self.local.last_seen = Some(self.now);
                let message =
                    format!("{} create may be one of {creating} unfinished work requests", self.name());
                self.in_flight(Some(message), None)
            }
            [] => self.none_listed(listed),
            [resource, others @ ..] => {
                if !others.is_empty() {
                    self.diagnostics.push(several_owned(self.name(), resource, others));
                }
                self.follow(resource)
            }
        }
    }

    /// Binds the object to a resource that carries its tag.
    fn follow(&mut self, resource: &Resource) -> Action {
        self.local.last_seen = Some(self.now);
        self.status.bind(&resource.id, self.now);
        self.confirm_binding(&resource.scope);
        get(&resource.id, true)
    }

    /// The listing lacks the resource that the object is bound to. That proves its absence once it was last seen longer
    /// ago than a listing may lag. `successor` carries the object's tag: it was created later, if a restore of the cluster's
    /// data has undone the record of that.
    fn bound_but_not_listed(&mut self, successor: Option<&Resource>) -> Action {
        if let Some(action) = self.await_unreadable_work_request() {
            return action;
        }
        if !self.may_conclude_absence() {
            return self.stalled_by_unknown_place();
        }
        let seen = self.local.last_seen.unwrap_or(self.now);
        if elapsed(seen, self.now) > self.schedule.create_grace {
            return match successor {
                Some(successor) => {
                    self.end_with_resource();
                    self.status.unbind();
                    self.follow(successor)
                }
                None if self.desired.deleting => Action::RemoveFinalizer(FinalizeReason::AbsentFromListing),
                None => self.missing(),
            };
        }
        let recheck = self.end_of_grace(seen);
        match self.status.current().map(|current| current.record.phase) {
            Some(Phase::Create | Phase::Update) if !self.desired.deleting => {
                self.publish_in_flight(Some(self.not_readable_yet()));
                Action::Requeue(poll(self.schedule, None, self.jitter).min(recheck))
            }
            Some(Phase::Delete) if self.desired.deleting => {
                let message =
                    format!("{} is gone from listings; waiting for final confirmation", self.name());
                self.publish_in_flight(Some(message));
                Action::Requeue(recheck)
            }
            _ => {
                let message =
                    format!("{} is neither readable nor listed; checking again to be sure", self.name());
                self.publish_stalled(StallReason::AccessOrAbsenceUnclear, &message);
                Action::Requeue(recheck)
            }
        }
    }

    /// The listing shows nothing of ours, and no id is known.
    fn none_listed(&mut self, listed: &Scope) -> Action {
        if let Some(action) = self.await_unreadable_work_request() {
            return action;
        }
        // The grace counts from the last sign of the create: its send, or a work request that may have been it.
        let intent =
            self.create_in_flight().and_then(|intent| intent.record.started_at.max(self.local.last_seen));
        if let Some(started) = intent
            && elapsed(started, self.now) <= self.schedule.create_grace
        {
            let message = format!("{} create was sent; searching for its result", self.name());
            self.publish_in_flight(Some(message));
            return Action::Requeue(self.end_of_grace(started));
        }
        // Where the spec is now, a create may have been sent whose record a restore has undone.
        let is_elsewhere = *listed != self.desired.scope;
        if self.desired.deleting && !(is_elsewhere && self.local.history == History::Unknown) {
            return Action::RemoveFinalizer(FinalizeReason::AbsentFromListing);
        }
        if is_elsewhere {
            // The spec has moved since the create was sent, which came to nothing. The next one goes elsewhere, where
            // nothing has been looked for yet.
            self.status.status.tracker.current = None;
            self.status.unbind();
            return self.find();
        }
        match self.retry_at(Phase::Create, None) {
            Some(time) => self.stalled_by_last_operation(time),
            None => self.start_create(),
        }
    }

    /// Neither a read nor a listing shows the resource, and it is not on record where it is.
    pub(super) fn stalled_by_unknown_place(&mut self) -> Action {
        let mut message = format!(
            "{} {} is not found, and its region and tenancy are not on record yet; nothing is concluded before it was \
             read once with the credentials that created it",
            self.name(),
            self.status.ocid().unwrap_or("without an id"),
        );
        if self.desired.deleting {
            message = format!("{message}; {}", self.release_hint());
        }
        self.stalled(StallReason::AccessOrAbsenceUnclear, &message)
    }

    /// A create whose work request is known but unreadable may still be running, invisible to listings; until its
    /// deadline nothing is concluded from their silence.
    fn await_unreadable_work_request(&mut self) -> Option<Action> {
        let create = self.create_in_flight()?;
        let id = self.followed_work_request()?;
        if create.record.raw_status.as_deref() == Some("SUCCEEDED") || self.is_overdue() {
            return None;
        }
        let message = format!("{} create work request {id} cannot be read", self.name());
        Some(self.stalled(StallReason::AccessOrAbsenceUnclear, &message))
    }

    pub(super) fn start_create(&mut self) -> Action {
        if let Some(why) = &self.desired.missing_secret {
            let message = format!("{} create: {why}", self.name());
            return self.stalled(StallReason::Rejected, &message);
        }
        if self.local.history == History::NothingSent {
            self.local.history = History::Recorded;
        }
        let mut operation = self.new_operation(Phase::Create);
        operation.record.body_hash = Some(body_hash(&self.desired.body));
        operation.sent = self.sent_by_create(&self.desired.body);
        let token = operation.token.clone();
        self.track(operation);
        self.publish_in_flight(None);
        self.send_create(token, false)
    }

    /// The delay until the grace that began at `since` is certainly over; stored times are whole seconds.
    fn end_of_grace(&self, since: Timestamp) -> Duration {
        let left = self.schedule.create_grace.saturating_sub(elapsed(since, self.now));
        self.jitter.later(left + Duration::from_secs(1))
    }

    pub(super) fn not_readable_yet(&self) -> String {
        format!("{} is waiting to become readable", self.name())
    }

    const fn name(&self) -> &'static str {
        self.desired.kind.name
    }
}

fn several_owned(kind: &str, followed: &Resource, others: &[&Resource]) -> Diagnostic {
    let ids: Vec<&str> = others.iter().map(|resource| resource.id.as_str()).collect();
    Diagnostic::warning(
        codes::SEVERAL_OWNED,
        format!("{} {kind}s carry the tag of this object; {} is followed", others.len() + 1, followed.id),
    )
    .detail(format!("The others are left alone: {}.", ids.join(", ")))
    .hint("Delete those you do not need, or remove the tag plimsoll-uid from them.")
}
