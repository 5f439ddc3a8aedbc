//! The first call of a pass: what to ask the provider, given only what is written down.

use std::time::Duration;

use super::{Decision, Evidence, Next};
use crate::operation::{Operation, Phase, Source};
use crate::schedule::{after, poll};
use crate::service::{Call, Strategy};
use crate::token::body_hash;
use crate::wishes::DeletionPolicy;

/// A create is sent within this share of the grace or not at all: what is left of the grace must cover the lag of
/// listings and the disagreement of clocks, before another leader may conclude that nothing was sent.
const SENDING_SHARE: u32 = 4;

impl Decision<'_> {
    pub(super) fn look(&mut self) -> Next {
        let desired = self.desired;
        if desired.deleting && !desired.held {
            return Next::Release(Evidence::NotHeld);
        }
        if desired.deleting && desired.wishes.release {
            return Next::Release(Evidence::AskedTo);
        }
        if desired.wishes.paused {
            return Next::Wait(self.jitter.sooner(self.settings.drift_interval));
        }
        if desired.deleting && desired.wishes.deletion_policy == DeletionPolicy::Retain {
            return Next::Release(Evidence::Retained);
        }
        if !desired.held {
            return Next::Hold;
        }
        if let Some(id) = self.work_request_to_follow() {
            return Next::Call(Call::GetWorkRequest { id });
        }
        match self.status.ocid() {
            Some(id) => Next::Call(Call::Get { id: id.to_owned(), listed: false }),
            None if self.create_in_flight().is_some() => self.settle(),
            None => self.look_without_id(),
        }
    }

    /// The work request that the tracker follows. A lifecycle kind may carry an id as a breadcrumb only.
    pub(super) fn work_request_to_follow(&self) -> Option<String> {
        let current = self.status.current()?;
        let followed = current.source == Source::WorkRequest
            && matches!(self.desired.kind.strategy, Strategy::WorkRequest(_));
        current.work_request_id.clone().filter(|_| followed)
    }

    /// Settles a create whose answer never came: the same request again where that is harmless, else a search for
    /// what it may have made. An object that is being deleted makes nothing.
    ///
    /// Sending again is written down first, too: the grace counts from the last sending, and the store is what
    /// keeps a pass on an outdated object from sending at all.
    fn settle(&mut self) -> Next {
        let same_body = Some(body_hash(&self.desired.body));
        let may_replay = !self.desired.deleting && !self.is_overdue();
        let now = self.now;
        match &mut self.status.status.tracker.current {
            Some(Operation { token: Some(token), body_hash, started_at, .. })
                if may_replay && *body_hash == same_body =>
            {
                if *started_at == Some(now) {
                    return Next::Wait(Duration::from_secs(1));
                }
                *started_at = Some(now);
                let token = Some(token.clone());
                self.send_create(token, true)
            }
            _ => self.find(),
        }
    }

    /// The call that creates, bounded in time.
    pub(super) fn send_create(&self, token: Option<String>, replay: bool) -> Next {
        Next::Call(Call::Create {
            token,
            body: self.desired.body.clone(),
            not_after: after(self.now, self.settings.create_grace / SENDING_SHARE),
            replay,
        })
    }

    fn look_without_id(&self) -> Next {
        let traces = self.status.current().is_some() || self.status.last_operation().is_some();
        if self.desired.deleting {
            return if traces { self.find() } else { Next::Release(Evidence::NeverCreated) };
        }
        if let Some(id) = &self.desired.wishes.adopt {
            return Next::Call(Call::Get { id: id.clone(), listed: false });
        }
        match self.gate(Phase::Create, None) {
            Some(gate) => self.wait_until(gate),
            None => self.find(),
        }
    }

    /// A full listing, which every create that is not a repetition comes after.
    pub(super) fn find(&self) -> Next {
        Next::Call(Call::Find {
            id: self.status.ocid().map(str::to_owned),
            since: self.create_in_flight().and_then(|intent| intent.started_at),
        })
    }

    /// A look at the resource if its identifier is known, else a search for it.
    pub(super) fn get_or_find(&self) -> Next {
        match self.status.ocid() {
            Some(id) => Next::Call(Call::Get { id: id.to_owned(), listed: false }),
            None => self.find(),
        }
    }

    pub(super) fn wait_poll(&self, retry_after: Option<Duration>) -> Next {
        Next::Wait(poll(self.settings, retry_after, self.jitter))
    }
}
