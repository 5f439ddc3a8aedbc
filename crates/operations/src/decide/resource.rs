//! What the lifecycle state of the resource means for the object.

use std::time::Duration;

use serde_json::Value;

use super::{Action, Decision, FinalizeReason};
use crate::annotations::OnMissing;
use crate::lifecycle::Lifecycle;
use crate::operation::{Class, Operation, OperationRecord, Phase, Source};
use crate::outcome::StallReason;
use crate::schedule::elapsed;
use crate::service::{Call, Drift, Resource};
use crate::token::body_hash;

impl Decision<'_> {
    pub(super) fn on_resource(&mut self, resource: &Resource, retry_after: Option<Duration>) -> Action {
        self.local.last_seen = Some(self.now);
        if !self.is_ours(resource) {
            return self.held_by_another(resource);
        }
        let is_new = self.status.ocid() != Some(resource.id.as_str());
        if is_new && let Some((parameter, id)) = self.desired.policy.refuses(&resource.scope) {
            return self.refuse_parent(&format!("{parameter} {id}"));
        }
        self.status.bind(&resource.id, self.now);
        let phase = self.status.current().map(|current| current.record.phase);
        if matches!(resource.drift, Drift::Move(_)) && phase == Some(Phase::Update) {
            // Soon it may be here or there: until it has arrived, no listing proves that it is gone.
            self.status.status.binding = None;
        } else {
            self.confirm_binding(&resource.scope);
        }
        match self.lifecycle(resource) {
            Some(Lifecycle::Deleted) => self.on_deleted(),
            Some(Lifecycle::Scheduled) => self.on_scheduled(resource),
            Some(Lifecycle::Pending(phase)) => self.on_pending(phase, resource, retry_after),
            // Whatever its state, a resource to delete is deleted.
            _ if self.desired.deleting => self.start_delete(resource),
            Some(Lifecycle::Ready) => self.on_ready(resource),
            Some(Lifecycle::Failed) => self.on_failed(resource),
            Some(Lifecycle::Attention) => {
                self.stalled(StallReason::Attention, &self.describe(resource, "requires attention"))
            }
            None => self.stalled(StallReason::Unknown, &self.describe(resource, "is in an unknown state")),
        }
    }

    /// The response to an update shows the resource: if it is usable, the update is over, whether or not the response
    /// shows the new values yet.
    pub(super) fn on_updated(&mut self, resource: &Resource, retry_after: Option<Duration>) -> Action {
        if self.lifecycle(resource) == Some(Lifecycle::Ready) {
            self.record(Class::Succeeded, None);
        }
        self.on_resource(resource, retry_after)
    }

    pub(super) fn lifecycle(&self, resource: &Resource) -> Option<Lifecycle> {
        self.desired.kind.lifecycle(resource.raw_state.as_deref())
    }

    /// A resource is ours if it carries our uid, if the user asked to adopt it, or if OSOK bound it without a tag. One that
    /// carries the tag of another object is adopted only from that object by name.
    fn is_ours(&self, resource: &Resource) -> bool {
        let bound = self.status.ocid() == Some(resource.id.as_str());
        match &resource.owner {
            Some(owner) if *owner == self.desired.uid => true,
            Some(owner) => {
                self.is_adopted(resource) && self.desired.annotations.adopt_from.as_ref() == Some(owner)
            }
            None => bound || self.is_adopted(resource),
        }
    }

    fn is_adopted(&self, resource: &Resource) -> bool {
        !self.desired.policy.no_adoption
            && self.desired.annotations.adopt.as_deref() == Some(resource.id.as_str())
    }

    fn held_by_another(&mut self, resource: &Resource) -> Action {
        if self.desired.deleting {
            return Action::RemoveFinalizer(FinalizeReason::HeldByAnother);
        }
        let (id, owner) = (&resource.id, resource.owner.as_deref().unwrap_or("none"));
        let message = format!(
            "{} {id} carries the tag of another object ({owner}); to take it over, annotate this one with \
             plimsoll.dev/adopt: {id} and plimsoll.dev/adopt-from: {owner}",
            self.desired.kind.name,
        );
        self.stalled(StallReason::HeldByAnother, &message)
    }

    /// The state shows a mutation in flight, which takes precedence over what is on record. The work request id is kept
    /// as long as the phase is the same.
    fn on_pending(&mut self, phase: Phase, resource: &Resource, retry_after: Option<Duration>) -> Action {
        let known = self.status.current().filter(|current| current.record.phase == phase).cloned();
        let mut operation = known.unwrap_or_else(|| {
            let mut operation = Operation { token: None, ..self.new_operation(phase) };
            operation.record.attempt = Some(self.attempts_so_far()).filter(|attempt| *attempt > 0);
            operation
        });
        operation.source = Source::Lifecycle;
        operation.percent_complete = None;
        operation.record = OperationRecord {
            raw_status: resource.raw_state.clone(),
            raw_operation_type: None,
            normalized_class: Class::Pending,
            ..operation.record
        };
        self.track(operation);
        self.in_flight(resource.details.clone(), retry_after)
    }

    fn on_ready(&mut self, resource: &Resource) -> Action {
        let phase = self.status.current().map(|current| current.record.phase);
        let drift = self.whole_drift(&resource.drift);
        if let Drift::Update(body) | Drift::Move(body) = &drift
            && phase == Some(Phase::Update)
            && self.may_be_unsent()
        {
            return match self.missing_secret_of(body) {
                Some(stalled) => stalled,
                None => self.send_update(resource, body),
            };
        }
        match phase {
            Some(Phase::Create | Phase::Update) => self.record(Class::Succeeded, None),
            // The object is no longer being deleted, and the resource is still there.
            Some(Phase::Delete) => self.status.status.tracker.current = None,
            None => {}
        }
        match &drift {
            Drift::None => self.ready(phase.filter(|phase| *phase != Phase::Delete)),
            Drift::Update(body) | Drift::Move(body) => self.start_update(resource, body),
            Drift::Immutable(fields) => {
                let fields: Vec<String> = fields.iter().map(|field| format!("spec.{field}")).collect();
                let message = format!(
                    "cannot change {} after creation; restore the old value, or delete and recreate the object",
                    fields.join(", "),
                );
                self.stalled(StallReason::Rejected, &message)
            }
        }
    }

    /// Whether the recorded update may never have been sent: no response to it is on record. Sending it again is
    /// harmless, since it names the version it is meant for.
    fn may_be_unsent(&self) -> bool {
        self.status.current().is_some_and(|Operation { record, .. }| {
            record.work_request_id.is_none()
                && record.raw_status.is_none()
                && record.started_at.is_some_and(|at| elapsed(at, self.now) <= self.schedule.create_grace)
        })
    }

    fn start_update(&mut self, resource: &Resource, body: &Value) -> Action {
        if let Some(time) = self.retry_at(Phase::Update, Some(&body_hash(body))) {
            let may_still_show = self.status.last_operation().is_some_and(|last| {
                last.record.normalized_class == Class::Succeeded
                    && elapsed(last.finished_at, self.now) <= self.schedule.create_grace
            });
            return if may_still_show {
                self.requeue_poll(None)
            } else {
                self.stalled_by_last_operation(time)
            };
        }
        if let Some(stalled) = self.missing_secret_of(body) {
            return stalled;
        }
        self.track(self.new_operation(Phase::Update));
        self.publish_in_flight(None);
        self.send_update(resource, body)
    }

    /// An update that takes a value from a Secret that does not exist is not sent.
    fn missing_secret_of(&mut self, body: &Value) -> Option<Action> {
        let mut fields = body.as_object().into_iter().flatten();
        let why = fields.find_map(|(field, _)| self.desired.missing_in_updates.get(field))?;
        let message = format!("{} update: {why}", self.desired.kind.name);
        Some(self.stalled(StallReason::Rejected, &message))
    }

    fn send_update(&mut self, resource: &Resource, body: &Value) -> Action {
        let sent = self.sent_in(body);
        if let Some(current) = &mut self.status.status.tracker.current {
            current.record.body_hash = Some(body_hash(body));
            current.sent = sent;
        }
        if matches!(resource.drift, Drift::Move(_)) {
            self.status.status.binding = None;
        }
        let (id, if_match) = (resource.id.clone(), resource.etag.clone());
        Action::Call(Call::Update { id, body: body.clone(), if_match })
    }

    /// Deletes the resource, because the object is deleted or because a failed create left it behind.
    fn start_delete(&mut self, resource: &Resource) -> Action {
        if self.status.current().is_some_and(|current| current.record.phase != Phase::Delete) {
            let failed = self.lifecycle(resource) == Some(Lifecycle::Failed);
            self.record(if failed { Class::Failed } else { Class::Succeeded }, resource.details.clone());
        }
        if self.status.current().is_none() {
            if let Some(time) = self.retry_at(Phase::Delete, None) {
                return self.stalled_by_last_operation(time);
            }
            self.track(self.new_operation(Phase::Delete));
            self.publish_in_flight(None);
        }
        let (id, if_match) = (resource.id.clone(), resource.etag.clone());
        Action::Call(Call::Delete { id, if_match })
    }

    /// The provider shows the resource as failed. The leftover of our failed create is deleted when the next attempt is
    /// due; anything else holds a user's data and is only reported.
    fn on_failed(&mut self, resource: &Resource) -> Action {
        let message = self.describe(resource, "failed");
        let phase = self.status.current().map(|current| current.record.phase);
        let deleting_leftover = phase == Some(Phase::Delete);
        if !deleting_leftover {
            self.record(Class::Failed, Some(message.clone()));
        }
        let ours = resource.owner.as_deref() == Some(self.desired.uid.as_str()) && !self.is_adopted(resource);
        if !ours || !(deleting_leftover || self.is_leftover()) {
            return self.stalled(StallReason::Failed, &message);
        }
        match self.retry_at(Phase::Create, None) {
            Some(time) => self.stalled_by_last_operation(time),
            None => self.start_delete(resource),
        }
    }

    /// Its deletion is accepted. If we have asked for it, that is all there is to do.
    fn on_scheduled(&mut self, resource: &Resource) -> Action {
        if self.desired.deleting {
            Action::RemoveFinalizer(FinalizeReason::DeletionScheduled)
        } else if self.status.current().is_some_and(|current| current.record.phase == Phase::Delete) {
            self.missing()
        } else {
            let message =
                self.describe(resource, "is scheduled for deletion; cancel that, or delete the object");
            self.stalled(StallReason::Attention, &message)
        }
    }

    pub(super) fn on_deleted(&mut self) -> Action {
        if self.desired.deleting {
            Action::RemoveFinalizer(FinalizeReason::ObservedDeleted)
        } else {
            self.missing()
        }
    }

    /// Ends the operation in flight on a resource that is proven to be gone.
    pub(super) fn end_with_resource(&mut self) {
        let name = self.desired.kind.name;
        match self.status.current().map(|current| current.record.phase) {
            Some(Phase::Delete) => self.record(Class::Succeeded, None),
            Some(phase) => {
                self.record(Class::Failed, Some(format!("{name} was deleted during its {}", phase.as_str())));
            }
            None => {}
        }
    }

    /// The resource is proven to be gone, and the object is not being deleted.
    pub(super) fn missing(&mut self) -> Action {
        let leftover = self.is_leftover();
        let name = self.desired.kind.name;
        self.end_with_resource();
        if !leftover && self.desired.annotations.on_missing == OnMissing::Report {
            let id = self.status.ocid().unwrap_or("without an id");
            let message = format!(
                "{name} {id} was deleted outside of this operator; to recreate it, annotate the object with \
                 plimsoll.dev/on-missing: Recreate"
            );
            return self.stalled(StallReason::Missing, &message);
        }
        self.status.unbind();
        match self.retry_at(Phase::Create, None) {
            Some(time) => self.stalled_by_last_operation(time),
            None => self.find(),
        }
    }

    fn describe(&self, resource: &Resource, what: &str) -> String {
        let name = self.desired.kind.name;
        let state = resource.raw_state.as_deref().unwrap_or("none");
        match resource.details.as_deref().map(str::trim).filter(|details| !details.is_empty()) {
            Some(details) => format!("{name} {what} (state {state}): {details}"),
            None => format!("{name} {what} (state {state})"),
        }
    }
}
