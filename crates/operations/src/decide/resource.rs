//! Learning from the resource itself: what its state means for the object.

use std::time::Duration;

use serde_json::Value;

use super::{Decision, Evidence, Next};
use crate::mapping::Cause;
use crate::operation::{Class, Operation, Phase, Source};
use crate::schedule::elapsed;
use crate::service::{Call, Drift, Resource};
use crate::state::Meaning;
use crate::token::body_hash;
use crate::wishes::OnMissing;

impl Decision<'_> {
    /// The resource as it is now.
    pub(super) fn seen(&mut self, resource: &Resource, retry_after: Option<Duration>) -> Next {
        self.memory.last_seen = Some(self.now);
        if !self.is_ours(resource) {
            return self.held_by_another(resource);
        }
        self.status.bind(&resource.id, self.now);
        match resource.meaning {
            Some(Meaning::Gone) => self.gone(),
            Some(Meaning::Pending(phase)) => self.on_its_way(phase, resource, retry_after),
            // Whatever state it is in, what is to be deleted is deleted.
            Some(Meaning::Ready | Meaning::Failed | Meaning::Attention) | None if self.desired.deleting => {
                self.start_delete(resource)
            }
            Some(Meaning::Ready) => self.ready(resource),
            Some(Meaning::Failed) => self.broken(resource),
            Some(Meaning::Attention) => {
                self.stuck(Cause::Attention, &self.tell(resource, "requires attention"))
            }
            None => self.stuck(Cause::Unknown, &self.tell(resource, "is in a state that is not modelled")),
        }
    }

    /// The answer to an update that shows the resource: if it is usable, the update is over, whether or not the
    /// answer shows the new values yet.
    pub(super) fn updated(&mut self, resource: &Resource, retry_after: Option<Duration>) -> Next {
        if resource.meaning == Some(Meaning::Ready) {
            self.record(Class::Succeeded, None);
        }
        self.seen(resource, retry_after)
    }

    /// Ours is what carries our uid, what a person told us to adopt, and what an older operator bound without a tag.
    fn is_ours(&self, resource: &Resource) -> bool {
        let bound = self.status.ocid() == Some(resource.id.as_str());
        let adopted = self.desired.wishes.adopt.as_deref() == Some(resource.id.as_str());
        match &resource.owner {
            Some(owner) => *owner == self.desired.uid || adopted,
            None => bound || adopted,
        }
    }

    fn held_by_another(&mut self, resource: &Resource) -> Next {
        if self.desired.deleting {
            return Next::Release(Evidence::HeldByAnother);
        }
        let message = format!(
            "{} {} carries the tag of another object ({}); annotate this one with plimsoll.dev/adopt to take it over",
            self.desired.kind.name,
            resource.id,
            resource.owner.as_deref().unwrap_or("none"),
        );
        self.stuck(Cause::HeldByAnother, &message)
    }

    /// The state shows a mutation in flight, and what it shows beats what was written down. The id of the opening
    /// answer is kept as long as the phase is the same.
    fn on_its_way(&mut self, phase: Phase, resource: &Resource, retry_after: Option<Duration>) -> Next {
        let known = self.status.current().filter(|current| current.phase == phase).cloned();
        let operation = known.unwrap_or_else(|| Operation {
            body_hash: None,
            token: None,
            attempt: Some(self.attempts_so_far()).filter(|attempt| *attempt > 0),
            ..self.new_operation(phase)
        });
        self.track(Operation {
            source: Source::Lifecycle,
            raw_status: resource.raw_state.clone(),
            raw_operation_type: None,
            normalized_class: Class::Pending,
            percent_complete: None,
            ..operation
        });
        self.in_flight(resource.details.clone(), retry_after)
    }

    fn ready(&mut self, resource: &Resource) -> Next {
        let phase = self.status.current().map(|current| current.phase);
        if let Drift::Update(body) = &resource.drift
            && phase == Some(Phase::Update)
            && self.may_be_unsent()
        {
            return self.send_update(resource, body);
        }
        match phase {
            Some(Phase::Create | Phase::Update) => self.record(Class::Succeeded, None),
            // Nobody is deleting it any more, and it is there.
            Some(Phase::Delete) => self.status.status.tracker.current = None,
            None => {}
        }
        match &resource.drift {
            Drift::None => self.idle(phase.filter(|phase| *phase != Phase::Delete)),
            Drift::Update(body) => self.start_update(resource, body),
            Drift::Immutable(fields) => {
                let message = format!(
                    "{} cannot be changed after the create: {}; restore the old value, or delete the object and \
                     create it anew",
                    if fields.len() == 1 { "a field" } else { "fields" },
                    fields.join(", "),
                );
                self.stuck(Cause::Rejected, &message)
            }
        }
    }

    /// Whether the update on record may never have been sent: no answer to it is on record either. Sending it again
    /// is harmless, since it names the version it is meant for.
    fn may_be_unsent(&self) -> bool {
        self.status.current().is_some_and(|current| {
            current.work_request_id.is_none()
                && current.raw_status.is_none()
                && current.started_at.is_some_and(|at| elapsed(at, self.now) <= self.settings.create_grace)
        })
    }

    fn start_update(&mut self, resource: &Resource, body: &Value) -> Next {
        let hash = body_hash(body);
        if let Some(gate) = self.gate(Phase::Update, Some(&hash)) {
            let shows_soon = self.status.last_operation().is_some_and(|last| {
                last.normalized_class == Class::Succeeded
                    && elapsed(last.finished_at, self.now) <= self.settings.create_grace
            });
            return if shows_soon { self.wait_poll(None) } else { self.stuck_as_recorded(gate) };
        }
        let operation = self.new_operation(Phase::Update);
        self.track(operation);
        self.publish_in_flight(None);
        self.send_update(resource, body)
    }

    fn send_update(&mut self, resource: &Resource, body: &Value) -> Next {
        if let Some(current) = &mut self.status.status.tracker.current {
            current.body_hash = Some(body_hash(body));
        }
        let (id, if_match) = (resource.id.clone(), resource.etag.clone());
        Next::Call(Call::Update { id, body: body.clone(), if_match })
    }

    /// Deletes the resource, because the object goes or because a failed create left it behind.
    fn start_delete(&mut self, resource: &Resource) -> Next {
        if self.status.current().is_some_and(|current| current.phase != Phase::Delete) {
            let failed = resource.meaning == Some(Meaning::Failed);
            self.record(if failed { Class::Failed } else { Class::Succeeded }, resource.details.clone());
        }
        if self.status.current().is_none() {
            if let Some(gate) = self.gate(Phase::Delete, None) {
                return self.stuck_as_recorded(gate);
            }
            let operation = self.new_operation(Phase::Delete);
            self.track(operation);
            self.publish_in_flight(None);
        }
        let (id, if_match) = (resource.id.clone(), resource.etag.clone());
        Next::Call(Call::Delete { id, if_match })
    }

    /// The provider shows the resource as failed. What a failed create of ours left behind makes room for the next
    /// attempt when its time has come; anything else is somebody's data and only reported.
    fn broken(&mut self, resource: &Resource) -> Next {
        let message = self.tell(resource, "failed");
        let deleting_leftover = match self.status.current().map(|current| current.phase) {
            Some(Phase::Delete) => true,
            Some(_) => {
                self.record(Class::Failed, Some(message.clone()));
                false
            }
            None => false,
        };
        let ours = resource.owner.as_deref() == Some(self.desired.uid.as_str())
            && self.desired.wishes.adopt.as_deref() != Some(resource.id.as_str());
        if !ours || !(deleting_leftover || self.is_leftover()) {
            return self.stuck(Cause::Failed, &message);
        }
        match self.gate(Phase::Create, None) {
            Some(gate) => self.stuck_as_recorded(gate),
            None => self.start_delete(resource),
        }
    }

    /// The resource was seen in its deleted state.
    pub(super) fn gone(&mut self) -> Next {
        if self.desired.deleting { Next::Release(Evidence::SeenDeleted) } else { self.missing() }
    }

    /// The resource is proven to be gone, and the object is not being deleted.
    pub(super) fn missing(&mut self) -> Next {
        let leftover = self.is_leftover();
        let name = self.desired.kind.name;
        match self.status.current().map(|current| current.phase) {
            Some(Phase::Delete) => self.record(Class::Succeeded, None),
            Some(phase) => {
                self.record(Class::Failed, Some(format!("{name} was deleted during its {}", phase.as_str())));
            }
            None => {}
        }
        if !leftover && self.desired.wishes.on_missing == OnMissing::Report {
            let id = self.status.ocid().unwrap_or("without an identifier");
            let message = format!(
                "{name} {id} was deleted by somebody else; annotate the object with plimsoll.dev/on-missing: Recreate \
                 to make it anew"
            );
            return self.stuck(Cause::Missing, &message);
        }
        self.status.unbind();
        match self.gate(Phase::Create, None) {
            Some(gate) => self.stuck_as_recorded(gate),
            None => self.find(),
        }
    }

    fn tell(&self, resource: &Resource, what: &str) -> String {
        let name = self.desired.kind.name;
        let state = resource.raw_state.as_deref().unwrap_or("none");
        match resource.details.as_deref().map(str::trim).filter(|details| !details.is_empty()) {
            Some(details) => format!("{name} {what} (state {state}): {details}"),
            None => format!("{name} {what} (state {state})"),
        }
    }
}
