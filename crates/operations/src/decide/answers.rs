//! Learning from answers: a mutation was accepted, a work request was polled.

use std::time::Duration;

use diag::Diagnostic;

use super::{Decision, Evidence, Next};
use crate::codes;
use crate::mapping::Cause;
use crate::observation::{Headers, Learned};
use crate::operation::{Class, Phase, Source};
use crate::service::{Call, Resource};
use crate::work_request::WorkRequest;

/// How many of a failed work request's errors are shown.
const ERRORS_SHOWN: usize = 3;

impl Decision<'_> {
    pub(super) fn learn(&mut self, call: &Call, headers: &Headers, learned: Learned) -> Next {
        self.memory.failures = 0;
        // Reads that went well say nothing about the last mutation, so their request ids are not taken over.
        if call.mutates() {
            self.status.correlate(headers.request_id.as_deref());
        }
        match learned {
            Learned::Accepted(resource) => self.accepted(call, headers, resource),
            Learned::Seen(resource) => self.seen(&resource, headers.retry_after),
            Learned::Found { resources, creating } => self.found(&resources, creating),
            Learned::Polled(work_request) => self.polled(work_request, headers.retry_after),
            Learned::Explained(work_request, errors) => self.ended(&work_request, &errors),
        }
    }

    /// The provider took the mutation: its id is on record before anything else is asked.
    fn accepted(&mut self, call: &Call, headers: &Headers, resource: Option<Resource>) -> Next {
        self.memory.last_seen = Some(self.now);
        if let Some(current) = &mut self.status.status.tracker.current {
            current.normalized_class = Class::Pending;
            current.source = self.desired.kind.strategy.source();
            if let Some(id) = &headers.work_request_id {
                current.work_request_id = Some(id.trim().to_owned());
            }
        }
        match (call, resource) {
            (Call::Create { .. }, Some(resource)) => {
                self.status.bind(&resource.id, self.now);
                self.seen(&resource, headers.retry_after)
            }
            (Call::Update { .. }, Some(resource)) => self.updated(&resource, headers.retry_after),
            (Call::Create { .. }, None) if headers.work_request_id.is_none() => {
                self.publish_in_flight(None);
                self.get_or_find()
            }
            _ => self.in_flight(None, headers.retry_after),
        }
    }

    fn polled(&mut self, polled: WorkRequest, retry_after: Option<Duration>) -> Next {
        let name = self.desired.kind.name;
        let Some(current) = &mut self.status.status.tracker.current else {
            return self.wait_poll(retry_after);
        };
        let phase = polled.phase.unwrap_or(current.phase);
        if phase != current.phase {
            self.diagnostics.push(contradicted(name, current.phase, phase, &polled));
        }
        current.phase = phase;
        current.source = Source::WorkRequest;
        if self.status.ocid().is_none()
            && let Some(id) = &polled.resource_id
        {
            self.status.bind(id, self.now);
        }
        if matches!(polled.class, Class::Failed | Class::Canceled) {
            return Next::Call(Call::ExplainFailure { work_request: Box::new(polled) });
        }
        self.show(&polled);
        match (polled.class, phase) {
            (Class::Succeeded, Phase::Delete) if self.proves_delete(&polled) => self.deleted_by_us(),
            // What the resource says is what gets published: it may not be readable yet.
            (Class::Succeeded, _) => self.get_or_find(),
            (Class::Attention, _) => self.stuck(Cause::Attention, &says(name, phase, &polled)),
            (Class::Pending, _) => self.in_flight(Some(says(name, phase, &polled)), retry_after),
            _ => self.stuck(Cause::Unknown, &says(name, phase, &polled)),
        }
    }

    /// Copies what the provider says into the tracker. A create or update that succeeded is over when the resource
    /// can be read, and not before.
    fn show(&mut self, polled: &WorkRequest) {
        let Some(current) = &mut self.status.status.tracker.current else { return };
        current.raw_status.clone_from(&polled.raw_status);
        current.raw_operation_type.clone_from(&polled.raw_operation_type);
        current.percent_complete = polled.percent;
        if polled.class != Class::Succeeded || current.phase == Phase::Delete {
            current.normalized_class = polled.class;
        }
    }

    /// Whether a work request that succeeded is the evidence that our resource is gone: it says itself that it
    /// deleted, and it names no other resource.
    fn proves_delete(&self, polled: &WorkRequest) -> bool {
        let ours = polled.resource_id.as_deref().is_none_or(|id| self.status.ocid() == Some(id));
        polled.phase == Some(Phase::Delete) && ours
    }

    fn deleted_by_us(&mut self) -> Next {
        self.publish_in_flight(None);
        if self.desired.deleting { Next::Release(Evidence::WorkRequestSucceeded) } else { self.missing() }
    }

    /// The provider ended the operation, and this is why.
    pub(super) fn ended(&mut self, work_request: &WorkRequest, errors: &[String]) -> Next {
        let name = self.desired.kind.name;
        let phase = self.status.current().map_or(Phase::Create, |current| current.phase);
        self.show(work_request);
        let shown: Vec<&str> = errors
            .iter()
            .map(|error| error.trim())
            .filter(|error| !error.is_empty())
            .take(ERRORS_SHOWN)
            .collect();
        let mut message = says(name, phase, work_request);
        if !shown.is_empty() {
            message = format!("{message}: {}", shown.join("; "));
        }
        let cause = if work_request.class == Class::Canceled { Cause::Canceled } else { Cause::Failed };
        self.record(work_request.class, Some(message.clone()));
        // A delete that waited for a create or an update to end goes on with whatever that has left.
        if self.desired.deleting && phase != Phase::Delete {
            return self.get_or_find();
        }
        match self.gate(phase, None) {
            Some(gate) => self.stuck_until(gate, cause, &message),
            None => self.stuck(cause, &message),
        }
    }
}

/// What a work request says, in the words it has always been said.
fn says(kind: &str, phase: Phase, work_request: &WorkRequest) -> String {
    let status = work_request.raw_status.as_deref().unwrap_or("without a status");
    format!("{kind} {} work request {} is {status}", phase.as_str(), work_request.id)
}

fn contradicted(kind: &str, expected: Phase, observed: Phase, work_request: &WorkRequest) -> Diagnostic {
    Diagnostic::warning(
        codes::PHASE_CONTRADICTED,
        format!(
            "{kind} work request {} does {}, although {} was expected",
            work_request.id,
            work_request.raw_operation_type.as_deref().unwrap_or(observed.as_str()),
            expected.as_str(),
        ),
    )
    .detail("The provider is believed, and the operation is followed as what it is.")
    .field("status.status.async.current.phase")
}
