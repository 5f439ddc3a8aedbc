//! Learning from trouble: what a failed call proves, and how the object goes on.

use super::{Decision, Next};
use crate::mapping::Cause;
use crate::operation::{Class, Phase};
use crate::service::Call;
use crate::trouble::{Trouble, Verdict};

impl Decision<'_> {
    pub(super) fn suffer(&mut self, call: Call, trouble: &Trouble) -> Next {
        let verdict = trouble.verdict();
        let what = format!("{} {}", self.desired.kind.name, call.name());
        match (call, verdict) {
            // Why it failed is nice to know; that it failed is known already.
            (Call::ExplainFailure { work_request }, _) => self.ended(&work_request, &[]),
            // Work requests are forgotten after a while; the resource tells the rest.
            (Call::GetWorkRequest { .. }, Verdict::Unclear) => self.get_or_find(),
            (Call::Get { listed: false, .. }, Verdict::Unclear) if self.status.ocid().is_some() => {
                self.find()
            }
            // Listed and not yet readable: the create or update is not over.
            (Call::Get { listed: true, .. }, Verdict::Unclear) if self.is_becoming() => {
                self.in_flight(Some(self.not_readable_yet()), trouble.retry_after)
            }
            // A listing can say more than a 404 to a mutation. And an earlier sending of a create may have had its
            // effect, whatever this one met.
            (Call::Update { .. } | Call::Delete { .. }, Verdict::Unclear)
            | (Call::Create { .. }, Verdict::TokenSpent)
            | (Call::Create { replay: true, .. }, Verdict::Rejected) => {
                self.status.correlate(trouble.request_id.as_deref());
                self.find()
            }
            (Call::Create { .. } | Call::Update { .. } | Call::Delete { .. }, Verdict::Rejected) => {
                self.rejected(&what, trouble)
            }
            (_, Verdict::Passing | Verdict::Busy | Verdict::TokenSpent) => self.retrying(&what, trouble),
            (_, Verdict::Unclear) => self.unclear(&what, trouble),
            (_, Verdict::Denied) => {
                self.stuck_by(Cause::AccessDenied, &format!("{what}: {trouble}"), trouble)
            }
            (_, Verdict::Rejected) => self.stuck_by(Cause::Rejected, &format!("{what}: {trouble}"), trouble),
        }
    }

    /// Whether something is being made or changed, and is to stay.
    fn is_becoming(&self) -> bool {
        !self.desired.deleting && self.status.current().is_some_and(|current| current.phase != Phase::Delete)
    }

    /// The provider refused a mutation for good: it had no effect, and the same request will not fare better soon.
    fn rejected(&mut self, what: &str, trouble: &Trouble) -> Next {
        self.status.correlate(trouble.request_id.as_deref());
        let message = format!("{what}: {trouble}");
        let phase = self.status.current().map(|current| current.phase);
        self.record(Class::Failed, Some(message.clone()));
        match phase.and_then(|phase| self.gate(phase, None)) {
            Some(gate) => self.stuck_until(gate, Cause::Rejected, &message),
            None => self.stuck(Cause::Rejected, &message),
        }
    }

    fn unclear(&mut self, what: &str, trouble: &Trouble) -> Next {
        let mut message = format!("{what}: {trouble}; it is missing, or the right to see it is");
        if self.desired.deleting {
            message = format!(
                "{message}; annotate the object with plimsoll.dev/release: {} to let it go regardless",
                self.desired.uid
            );
        }
        self.stuck_by(Cause::AccessOrAbsenceUnclear, &message, trouble)
    }

    fn stuck_by(&mut self, cause: Cause, message: &str, trouble: &Trouble) -> Next {
        self.status.correlate(trouble.request_id.as_deref());
        self.stuck(cause, message)
    }
}
