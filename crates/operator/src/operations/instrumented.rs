//! The service of one object with its calls counted, or the reason why there is no service.

use operations::{Answer, Call, ExternalService, Kind, Resource, Trouble, Verdict};
use serde_json::Value;
use tokio::time::Instant;

use crate::runtime::metrics::Metrics;

/// A service, or the error that every call returns, so that missing credentials are reported and retried like any error.
pub(super) struct Instrumented<'a, S> {
    pub(super) service: Result<S, Trouble>,
    pub(super) metrics: &'a Metrics,
}

impl<S: ExternalService> ExternalService for Instrumented<'_, S> {
    type Spec = S::Spec;

    const KIND: Kind = S::KIND;

    fn create_body(spec: &S::Spec, uid: &str) -> Value {
        S::create_body(spec, uid)
    }

    fn read(spec: &S::Spec, uid: &str, body: &Value) -> Option<Resource> {
        S::read(spec, uid, body)
    }

    async fn call(&self, spec: &S::Spec, uid: &str, call: &Call) -> Result<Answer, Trouble> {
        let service = self.service.as_ref().map_err(Trouble::clone)?;
        let began = Instant::now();
        let result = service.call(spec, uid, call).await;
        let verdict = result.as_ref().err().map(Trouble::verdict);
        self.metrics.cloud_call(call.name(), outcome(verdict), began.elapsed());
        if verdict == Some(Verdict::Passing) {
            self.metrics.retry(S::KIND.name);
        }
        result
    }
}

/// The value of the metric's label.
const fn outcome(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        None => "ok",
        Some(Verdict::Passing) => "passing",
        Some(Verdict::Busy) => "busy",
        Some(Verdict::Unclear) => "unclear",
        Some(Verdict::Denied) => "denied",
        Some(Verdict::TokenSpent) => "token-spent",
        Some(Verdict::Rejected) => "rejected",
    }
}
