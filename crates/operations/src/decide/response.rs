//! What a successful response means: a mutation was accepted, a work request was polled.

use std::time::Duration;

use diag::Diagnostic;

use super::{Action, Decision, FinalizeReason};
use crate::binding::Scope;
use crate::codes;
use crate::observation::Payload;
use crate::operation::{Class, Phase, Source};
use crate::outcome::StallReason;
use crate::service::{Call, Resource, Response};
use crate::work_request::WorkRequest;

/// How many errors of a failed work request a message names.
const MAX_ERRORS: usize = 3;

impl Decision<'_> {
    pub(super) fn on_response(&mut self, call: &Call, mut response: Response<Payload>) -> Action {
        self.local.failures = 0;
        // Successful reads say nothing about the last mutation, so their request ids are not recorded.
        if call.mutates() {
            self.status.set_request_id(response.request_id.as_deref());
        }
        let retry_after = response.retry_after;
        match std::mem::replace(&mut response.body, Payload::Accepted(None)) {
            Payload::Accepted(resource) => {
                self.on_accepted(call, resource, response.work_request_id.as_deref(), retry_after)
            }
            Payload::Resource(resource) => self.on_resource(&resource, retry_after),
            Payload::Listing { scope, resources, creating } => self.on_listing(&scope, &resources, creating),
            Payload::WorkRequest(work_request) => self.on_work_request(work_request, retry_after),
            Payload::Errors(work_request, errors) => self.on_operation_failed(&work_request, &errors),
        }
    }

    /// The provider accepted the mutation: its id is on record before anything else is asked.
    fn on_accepted(
        &mut self,
        call: &Call,
        resource: Option<Resource>,
        work_request_id: Option<&str>,
        retry_after: Option<Duration>,
    ) -> Action {
        self.local.last_seen = Some(self.now);
        let work_request_id = work_request_id.map(str::trim).filter(|id| !id.is_empty());
        if let Some(current) = &mut self.status.status.tracker.current {
            current.record.normalized_class = Class::Pending;
            current.source = self.desired.kind.strategy.source();
            if let Some(id) = work_request_id {
                current.record.work_request_id = Some(id.to_owned());
            }
        }
        self.remember_sent();
        match (call, resource) {
            (Call::Create { .. }, Some(resource)) => {
                self.status.bind(&resource.id, self.now);
                self.on_resource(&resource, retry_after)
            }
            (Call::Update { .. }, Some(resource)) => self.on_updated(&resource, retry_after),
            (Call::Create { .. }, None) if work_request_id.is_none() => {
                self.publish_in_flight(None);
                self.get_or_find()
            }
            _ => self.in_flight(None, retry_after),
        }
    }

    fn on_work_request(&mut self, polled: WorkRequest, retry_after: Option<Duration>) -> Action {
        let name = self.desired.kind.name;
        let Some(current) = &mut self.status.status.tracker.current else {
            return self.requeue_poll(retry_after);
        };
        let phase = polled.phase.unwrap_or(current.record.phase);
        if phase != current.record.phase {
            self.diagnostics.push(contradicted(name, current.record.phase, phase, &polled));
        }
        current.record.phase = phase;
        current.source = Source::WorkRequest;
        if !self.may_conclude_absence() {
            self.confirm_binding(&Scope::new());
        }
        if self.status.ocid().is_none()
            && let Some(id) = &polled.resource_id
        {
            self.status.bind(id, self.now);
        }
        if matches!(polled.class, Class::Failed | Class::Canceled) {
            return Action::Call(Call::ExplainFailure { work_request: Box::new(polled) });
        }
        self.track_work_request(&polled);
        let message = describe(name, phase, &polled);
        match (polled.class, phase) {
            (Class::Succeeded, Phase::Delete) if self.proves_delete(&polled) => {
                self.publish_in_flight(None);
                if self.desired.deleting {
                    Action::RemoveFinalizer(FinalizeReason::WorkRequestSucceeded)
                } else {
                    self.missing()
                }
            }
            // The resource itself is what gets published, and it may not be readable yet.
            (Class::Succeeded, _) => self.get_or_find(),
            (Class::Attention, _) => self.stalled(StallReason::Attention, &message),
            (Class::Pending, _) => self.in_flight(Some(message), retry_after),
            _ => self.stalled(StallReason::Unknown, &message),
        }
    }

    /// Copies what the provider reports into the tracker. A create or update that succeeded is over when the resource
    /// can be read, and not before.
    fn track_work_request(&mut self, polled: &WorkRequest) {
        let Some(current) = &mut self.status.status.tracker.current else { return };
        current.record.raw_status.clone_from(&polled.raw_status);
        current.record.raw_operation_type.clone_from(&polled.raw_operation_type);
        current.percent_complete = polled.percent;
        if polled.class != Class::Succeeded || current.record.phase == Phase::Delete {
            current.record.normalized_class = polled.class;
        }
    }

    /// Whether a work request that succeeded proves that our resource is gone: by its own account it was a delete, and
    /// it names no other resource.
    fn proves_delete(&self, polled: &WorkRequest) -> bool {
        let ours = polled.resource_id.as_deref().is_none_or(|id| self.status.ocid() == Some(id));
        polled.phase == Some(Phase::Delete) && ours
    }

    /// The operation failed or was canceled, with these errors.
    pub(super) fn on_operation_failed(&mut self, work_request: &WorkRequest, errors: &[String]) -> Action {
        let phase = self.status.current().map_or(Phase::Create, |current| current.record.phase);
        self.track_work_request(work_request);
        let errors = errors.iter().map(|error| error.trim()).filter(|error| !error.is_empty());
        let errors: Vec<&str> = errors.take(MAX_ERRORS).collect();
        let mut message = describe(self.desired.kind.name, phase, work_request);
        if !errors.is_empty() {
            message = format!("{message}: {}", errors.join("; "));
        }
        // A delete that waited for a create or update continues with what that has left behind.
        if self.desired.deleting && phase != Phase::Delete {
            self.record(work_request.class, Some(message));
            return self.get_or_find();
        }
        let canceled = work_request.class == Class::Canceled;
        let reason = if canceled { StallReason::Canceled } else { StallReason::Failed };
        self.end_operation(work_request.class, reason, &message)
    }
}

/// How a work request stands, in OSOK's words.
fn describe(kind: &str, phase: Phase, work_request: &WorkRequest) -> String {
    let status = work_request.raw_status.as_deref().unwrap_or("without a status");
    format!("{kind} {} work request {} is {status}", phase.as_str(), work_request.id)
}

fn contradicted(kind: &str, expected: Phase, observed: Phase, work_request: &WorkRequest) -> Diagnostic {
    Diagnostic::warning(
        codes::PHASE_CONTRADICTED,
        format!(
            "{kind} work request {} is {}, but {} was expected",
            work_request.id,
            work_request.raw_operation_type.as_deref().unwrap_or(observed.as_str()),
            expected.as_str(),
        ),
    )
    .detail("The operation is followed as what the provider reports.")
    .field("status.status.async.current.phase")
}
