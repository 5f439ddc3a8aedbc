//! The first call of a reconcile: what to ask the provider, given only what is on record.

use std::time::Duration;

use super::{Action, Decision, FinalizeReason, History};
use crate::annotations::DeletionPolicy;
use crate::operation::{Operation, Phase, Source};
use crate::schedule::{after, elapsed, poll};
use crate::service::{Call, Strategy};
use crate::token::body_hash;

/// A create is sent within this share of the create grace or not at all: the rest must cover the lag of listings and
/// clock skew before another leader may conclude that nothing was sent.
const SEND_WINDOW_SHARE: u32 = 4;

impl Decision<'_> {
    pub(super) fn observe(&mut self) -> Action {
        let desired = self.desired;
        if desired.deleting && !desired.has_finalizer {
            return Action::RemoveFinalizer(FinalizeReason::NoFinalizer);
        }
        if desired.deleting && desired.annotations.release {
            return Action::RemoveFinalizer(FinalizeReason::ReleaseRequested);
        }
        if desired.annotations.paused {
            return Action::Requeue(self.jitter.sooner(self.schedule.drift_interval));
        }
        if desired.deleting && desired.annotations.deletion_policy == DeletionPolicy::Retain {
            return Action::RemoveFinalizer(FinalizeReason::Retained);
        }
        if !desired.deleting
            && let Some(stalled) = self.check_policy()
        {
            return stalled;
        }
        if !desired.has_finalizer {
            let is_new = desired.created_in_term && !self.local.was_managed && !self.has_record();
            self.local.history = if is_new { History::NothingSent } else { History::Unknown };
            return Action::AddFinalizer;
        }
        if let Some(stalled) = self.check_identity() {
            return stalled;
        }
        if let Some(id) = self.followed_work_request() {
            return Action::Call(Call::GetWorkRequest { id });
        }
        match self.status.ocid() {
            Some(id) => get(id, false),
            None if self.create_in_flight().is_some() => self.resolve_unanswered_create(),
            None => self.observe_without_id(),
        }
    }

    /// The work request that the tracker follows. A lifecycle kind records an id without following it.
    pub(super) fn followed_work_request(&self) -> Option<String> {
        let current = self.status.current()?;
        let followed = current.source == Source::WorkRequest
            && matches!(self.desired.kind.strategy, Strategy::WorkRequest(_));
        current.record.work_request_id.clone().filter(|_| followed)
    }

    /// A create whose response never arrived: sends the same request again where that is idempotent, else searches for
    /// what it may have created. An object that is being deleted creates nothing. Nor is an old request sent again: the
    /// record of what followed it may have been undone by a restore of the cluster's data.
    ///
    /// The replay is recorded first, too: the grace counts from the last send, and the precondition of the store keeps
    /// a reconcile of a stale object from sending at all.
    fn resolve_unanswered_create(&mut self) -> Action {
        let same_body = Some(body_hash(&self.desired.body));
        let now = self.now;
        let sent = self.create_in_flight().and_then(|intent| intent.record.started_at);
        let is_recent = sent.is_some_and(|sent| elapsed(sent, now) <= self.schedule.create_grace);
        let may_replay = !self.desired.deleting && is_recent;
        match &mut self.status.status.tracker.current {
            Some(Operation { token: Some(token), record, .. })
                if may_replay && record.body_hash == same_body =>
            {
                if record.started_at == Some(now) {
                    return Action::Requeue(Duration::from_secs(1));
                }
                record.started_at = Some(now);
                let token = Some(token.clone());
                self.send_create(token, true)
            }
            _ => self.find(),
        }
    }

    pub(super) fn send_create(&mut self, token: Option<String>, replay: bool) -> Action {
        // A replay goes where the first attempt went; only objects of older versions have no record of it.
        if !replay || !self.may_conclude_absence() {
            self.record_binding(self.desired.scope.clone());
        }
        Action::Call(Call::Create {
            token,
            body: self.desired.body.clone(),
            not_after: after(self.now, self.schedule.create_grace / SEND_WINDOW_SHARE),
            replay,
        })
    }

    /// Whether the status has a trace of a resource or of an operation.
    pub(super) fn has_record(&self) -> bool {
        self.status.ocid().is_some()
            || self.status.current().is_some()
            || self.status.last_operation().is_some()
    }

    /// Whether there is nothing to find: thousands of new objects would each read the whole listing. An intent is recorded
    /// only if it can be sent.
    fn is_first_create(&self) -> bool {
        self.local.history == History::NothingSent && self.desired.identity.is_some() && !self.has_record()
    }

    /// Whether there may be a resource although none is on record.
    fn may_have_lost_its_record(&self) -> bool {
        self.local.history == History::Unknown && self.desired.identity.is_some()
    }

    fn observe_without_id(&mut self) -> Action {
        if self.desired.deleting {
            return if self.has_record() || self.may_have_lost_its_record() {
                self.find()
            } else {
                Action::RemoveFinalizer(FinalizeReason::NeverCreated)
            };
        }
        if let Some(id) = &self.desired.annotations.adopt {
            return get(id, false);
        }
        match self.retry_at(Phase::Create, None) {
            Some(time) => self.requeue_at(time),
            None if self.is_first_create() => self.start_create(),
            None => self.find(),
        }
    }

    /// A full listing, which precedes every create that is neither the first nor a replay.
    pub(super) fn find(&self) -> Action {
        Action::Call(Call::Find {
            scope: self.scope(),
            id: self.status.ocid().map(str::to_owned),
            since: self.create_in_flight().and_then(|intent| intent.record.started_at),
        })
    }

    /// Reads the resource if its id is known, else searches for it.
    pub(super) fn get_or_find(&self) -> Action {
        match self.status.ocid() {
            Some(id) => get(id, false),
            None => self.find(),
        }
    }

    pub(super) fn requeue_poll(&self, retry_after: Option<Duration>) -> Action {
        Action::Requeue(poll(self.schedule, retry_after, self.jitter))
    }
}

/// Reads the resource; `listed` if a listing has just shown it.
pub(super) fn get(id: &str, listed: bool) -> Action {
    Action::Call(Call::Get { id: id.to_owned(), listed })
}
