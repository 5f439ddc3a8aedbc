//! The service of one object with its calls counted, or the reason why there is no service.

use operations::{Call, CallError, CallErrorKind, ExternalService, Kind, Resource, Response, Scope};
use serde_json::Value;
use tokio::time::Instant;

use crate::runtime::metrics::Metrics;

/// A service, or the error that every call returns, so that missing credentials are reported and retried like any error.
pub(super) struct Instrumented<'a, S> {
    pub(super) service: Result<S, CallError>,
    pub(super) metrics: &'a Metrics,
}

impl<S: ExternalService> ExternalService for Instrumented<'_, S> {
    type Spec = S::Spec;

    const KIND: Kind = S::KIND;

    fn create_body(spec: &S::Spec, uid: &str) -> Value {
        S::create_body(spec, uid)
    }

    fn scope(spec: &S::Spec) -> Scope {
        S::scope(spec)
    }

    fn read(spec: &S::Spec, uid: &str, body: &Value) -> Option<Resource> {
        S::read(spec, uid, body)
    }

    async fn call(&self, spec: &S::Spec, uid: &str, call: &Call) -> Result<Response, CallError> {
        let service = self.service.as_ref().map_err(CallError::clone)?;
        let began = Instant::now();
        let result = service.call(spec, uid, call).await;
        let verdict = result.as_ref().err().map(CallError::kind);
        self.metrics.cloud_call(call.name(), outcome(verdict), began.elapsed());
        if verdict == Some(CallErrorKind::Transient) {
            self.metrics.retry(S::KIND.name);
        }
        result
    }
}

/// The value of the metric's label.
const fn outcome(verdict: Option<CallErrorKind>) -> &'static str {
    match verdict {
        None => "ok",
        Some(CallErrorKind::Transient) => "passing",
        Some(CallErrorKind::Conflict) => "busy",
        Some(CallErrorKind::NotFoundOrDenied) => "unclear",
        Some(CallErrorKind::Denied) => "denied",
        Some(CallErrorKind::RetryTokenSpent) => "token-spent",
        Some(CallErrorKind::Rejected) => "rejected",
    }
}
