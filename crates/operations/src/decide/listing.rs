//! Learning from a full listing: the only read that can show that something is not there.

use std::time::Duration;

use diag::Diagnostic;
use jiff::Timestamp;

use super::{Decision, Evidence, Next};
use crate::codes;
use crate::mapping::Cause;
use crate::operation::Phase;
use crate::schedule::{elapsed, poll};
use crate::service::{Call, Resource};
use crate::state::Meaning;
use crate::token::body_hash;

impl Decision<'_> {
    /// A full listing came: these are ours, and so many work requests may yet turn out to be.
    pub(super) fn found(&mut self, resources: &[Resource], creating: usize) -> Next {
        if let Some(id) = self.status.ocid() {
            return match resources.iter().find(|resource| resource.id == id) {
                Some(resource) if resource.meaning == Some(Meaning::Gone) => self.gone(),
                Some(resource) => Next::Call(Call::Get { id: resource.id.clone(), listed: true }),
                None => self.not_listed(),
            };
        }
        let mut owned: Vec<&Resource> = resources
            .iter()
            .filter(|resource| resource.owner.as_deref() == Some(self.desired.uid.as_str()))
            .filter(|resource| resource.meaning != Some(Meaning::Gone))
            .collect();
        // What works comes before what does not, so that an accident of the past does not hide the living one.
        owned.sort_by_key(|resource| (resource.meaning == Some(Meaning::Failed), resource.id.clone()));
        match owned.as_slice() {
            // Without an intent on record nothing was sent, and what others are making is none of our business.
            [] if creating > 0 && self.create_in_flight().is_some() => {
                self.memory.last_seen = Some(self.now);
                let message =
                    format!("{} create is being looked for in {creating} work requests", self.name());
                self.in_flight(Some(message), None)
            }
            [] => self.nothing_of_ours(),
            [resource, others @ ..] => {
                if !others.is_empty() {
                    self.diagnostics.push(several(self.name(), resource, others));
                }
                self.memory.last_seen = Some(self.now);
                self.status.bind(&resource.id, self.now);
                Next::Call(Call::Get { id: resource.id.clone(), listed: true })
            }
        }
    }

    /// The listing lacks the resource that the object is bound to. That is evidence once the last sighting is older
    /// than the time a listing may lag behind.
    fn not_listed(&mut self) -> Next {
        if let Some(next) = self.wait_for_unread_work_request() {
            return next;
        }
        let seen = self.memory.last_seen.unwrap_or(self.now);
        if elapsed(seen, self.now) > self.settings.create_grace {
            return if self.desired.deleting {
                Next::Release(Evidence::AbsentFromListing)
            } else {
                self.missing()
            };
        }
        let recheck = self.end_of_grace(seen);
        match self.status.current().map(|current| current.phase) {
            Some(Phase::Create | Phase::Update) if !self.desired.deleting => {
                self.publish_in_flight(Some(self.not_readable_yet()));
                Next::Wait(poll(self.settings, None, self.jitter).min(recheck))
            }
            Some(Phase::Delete) if self.desired.deleting => {
                self.publish_in_flight(Some(format!(
                    "{} is gone from listings; waiting for final confirmation",
                    self.name()
                )));
                Next::Wait(recheck)
            }
            _ => {
                let message =
                    format!("{} can neither be read nor is it listed; looking again to be sure", self.name());
                self.publish_stuck(Cause::AccessOrAbsenceUnclear, &message);
                Next::Wait(recheck)
            }
        }
    }

    /// The listing shows nothing of ours, and no identifier is known.
    fn nothing_of_ours(&mut self) -> Next {
        if let Some(next) = self.wait_for_unread_work_request() {
            return next;
        }
        // The grace counts from the last sign of the create: its sending, or a work request that may have been it.
        let intent = self.create_in_flight().and_then(|intent| intent.started_at.max(self.memory.last_seen));
        if let Some(started) = intent
            && elapsed(started, self.now) <= self.settings.create_grace
        {
            self.publish_in_flight(Some(format!(
                "{} create was sent; looking for what came of it",
                self.name()
            )));
            return Next::Wait(self.end_of_grace(started));
        }
        if self.desired.deleting {
            return Next::Release(Evidence::AbsentFromListing);
        }
        match self.gate(Phase::Create, None) {
            Some(gate) => self.stuck_as_recorded(gate),
            None => self.start_create(),
        }
    }

    /// A create whose work request we know of but cannot read may still be at work, invisible to listings; until its
    /// deadline nothing is concluded from their silence.
    fn wait_for_unread_work_request(&mut self) -> Option<Next> {
        let create = self.create_in_flight()?;
        let id = self.work_request_to_follow()?;
        if create.raw_status.as_deref() == Some("SUCCEEDED") || self.is_overdue() {
            return None;
        }
        let message = format!("{} create work request {id} cannot be read", self.name());
        Some(self.stuck(Cause::AccessOrAbsenceUnclear, &message))
    }

    fn start_create(&mut self) -> Next {
        let mut operation = self.new_operation(Phase::Create);
        operation.body_hash = Some(body_hash(&self.desired.body));
        let token = operation.token.clone();
        self.track(operation);
        self.publish_in_flight(None);
        self.send_create(token, false)
    }

    /// The time until the grace that began at `since` is over for certain, times being whole seconds.
    fn end_of_grace(&self, since: Timestamp) -> Duration {
        let left = self.settings.create_grace.saturating_sub(elapsed(since, self.now));
        self.jitter.later(left + Duration::from_secs(1))
    }

    pub(super) fn not_readable_yet(&self) -> String {
        format!("{} is waiting to become readable", self.name())
    }

    const fn name(&self) -> &'static str {
        self.desired.kind.name
    }
}

fn several(kind: &str, followed: &Resource, others: &[&Resource]) -> Diagnostic {
    let ids: Vec<&str> = others.iter().map(|resource| resource.id.as_str()).collect();
    Diagnostic::warning(
        codes::SEVERAL_OWNED,
        format!("{} {kind}s carry the tag of this object; {} is followed", others.len() + 1, followed.id),
    )
    .detail(format!("The others are left alone: {}.", ids.join(", ")))
    .hint("Delete those that are not needed, or take the tag plimsoll-uid off them.")
}
