//! The first call of a pass: what to ask the provider, given only what is written down.

use std::time::Duration;

use super::{Decision, Evidence, Next};
use crate::operation::{Phase, Source};
use crate::schedule::{after, elapsed, poll};
use crate::service::{Call, Strategy};
use crate::token::body_hash;
use crate::wishes::DeletionPolicy;

/// The provider remembers a retry token for 24 hours; half of that leaves room for clocks that disagree.
const TOKEN_LIFE: Duration = Duration::from_secs(12 * 3600);

impl Decision<'_> {
    pub(super) fn look(&self) -> Next {
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
    fn work_request_to_follow(&self) -> Option<String> {
        let current = self.status.current()?;
        let followed = current.source == Source::WorkRequest
            && matches!(self.desired.kind.strategy, Strategy::WorkRequest(_));
        current.work_request_id.clone().filter(|_| followed)
    }

    /// Settles a create whose answer never came: the same request again where that is harmless, else a search for
    /// what it may have made. An object that is being deleted makes nothing.
    fn settle(&self) -> Next {
        let Some(intent) = self.create_in_flight() else { return self.find() };
        let started = intent.started_at.unwrap_or(self.now);
        let same_body = intent.body_hash.as_deref() == Some(body_hash(&self.desired.body).as_str());
        match &intent.token {
            Some(token) if same_body && !self.desired.deleting && elapsed(started, self.now) < TOKEN_LIFE => {
                Next::Call(Call::Create {
                    token: Some(token.clone()),
                    body: self.desired.body.clone(),
                    not_after: after(self.now, self.settings.create_grace / 2),
                    replay: true,
                })
            }
            _ => self.find(),
        }
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
