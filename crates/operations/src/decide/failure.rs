//! What a failed call proves, and how the object goes on.

use super::{Action, Decision};
use crate::call_error::{CallError, CallErrorKind};
use crate::operation::{Class, Phase};
use crate::outcome::StallReason;
use crate::service::Call;

impl Decision<'_> {
    pub(super) fn on_failure(&mut self, call: Call, error: &CallError) -> Action {
        let mut message = format!("{} {}: {error}", self.desired.kind.name, call.name());
        if error.code.ends_with("AlreadyExists") {
            message = format!(
                "{message}; to take over the existing one, annotate this object with plimsoll.dev/adopt and its id"
            );
        }
        match (call, error.kind()) {
            // That the operation failed is known already; only the explanation is missing.
            (Call::ExplainFailure { work_request }, _) => self.on_operation_failed(&work_request, &[]),
            // Work requests expire; the resource itself shows the rest.
            (Call::GetWorkRequest { .. }, CallErrorKind::NotFoundOrDenied) => self.get_or_find(),
            (Call::Get { listed: false, .. }, CallErrorKind::NotFoundOrDenied)
                if self.status.ocid().is_some() =>
            {
                if self.may_conclude_absence() {
                    self.find()
                } else {
                    self.stalled_by_unknown_place()
                }
            }
            // Listed but not readable yet: the create or update is not over.
            (Call::Get { listed: true, .. }, CallErrorKind::NotFoundOrDenied) if self.is_becoming() => {
                self.in_flight(Some(self.not_readable_yet()), error.retry_after)
            }
            // A listing says more than a 404 to a mutation. And an earlier attempt of a create may have taken effect,
            // whatever happened to this one.
            (Call::Update { .. } | Call::Delete { .. }, CallErrorKind::NotFoundOrDenied)
            | (Call::Create { .. }, CallErrorKind::RetryTokenSpent)
            | (Call::Create { replay: true, .. }, CallErrorKind::Rejected) => {
                self.status.set_request_id(error.request_id.as_deref());
                self.find()
            }
            // Something may have been created before this operator started, and only a listing would show it.
            (
                Call::Find { .. },
                CallErrorKind::NotFoundOrDenied | CallErrorKind::Denied | CallErrorKind::Rejected,
            ) if self.desired.deleting && !self.has_record() => {
                let message = format!(
                    "{message}; whether a resource was created is not known; {}",
                    self.release_hint()
                );
                self.stalled_by(StallReason::AccessOrAbsenceUnclear, &message, error)
            }
            // The mutation had no effect, and the same request will not fare better soon.
            (call, CallErrorKind::Rejected) if call.mutates() => {
                self.status.set_request_id(error.request_id.as_deref());
                self.forget_place_of(&call);
                self.end_operation(Class::Failed, StallReason::Rejected, &message)
            }
            (_, CallErrorKind::Transient | CallErrorKind::Conflict | CallErrorKind::RetryTokenSpent) => {
                self.retrying(&message, error)
            }
            (call, CallErrorKind::NotFoundOrDenied) => {
                self.forget_refused_create(&call);
                let mut message = format!("{message}; the resource or the permission to read it is missing");
                if self.desired.deleting {
                    message = format!("{message}; {}", self.release_hint());
                }
                self.stalled_by(StallReason::AccessOrAbsenceUnclear, &message, error)
            }
            (call, CallErrorKind::Denied) => {
                self.forget_refused_create(&call);
                self.stalled_by(StallReason::AccessDenied, &message, error)
            }
            (_, CallErrorKind::Rejected) => self.stalled_by(StallReason::Rejected, &message, error),
        }
    }

    /// A first attempt of a create that was refused made nothing, so nothing is in flight: with the right credentials it
    /// starts afresh.
    fn forget_refused_create(&mut self, call: &Call) {
        if matches!(call, Call::Create { replay: false, .. }) {
            self.status.status.tracker.current = None;
            self.forget_place_of(call);
        }
    }

    /// What was refused is nowhere, and other credentials may ask for it.
    fn forget_place_of(&mut self, call: &Call) {
        if matches!(call, Call::Create { replay: false, .. }) && self.status.ocid().is_none() {
            self.status.unbind();
        }
    }

    /// Whether a create or update is in flight for an object that is to stay.
    fn is_becoming(&self) -> bool {
        !self.desired.deleting
            && self.status.current().is_some_and(|current| current.record.phase != Phase::Delete)
    }

    fn stalled_by(&mut self, reason: StallReason, message: &str, error: &CallError) -> Action {
        self.status.set_request_id(error.request_id.as_deref());
        self.stalled(reason, message)
    }
}
