//! Ephemeral resources: values that exist while Terraform runs, and are in no plan and no state.

use tokio_util::sync::CancellationToken;

use super::{BoxFuture, Deferral};
use crate::diagnostics::Diagnostics;
use crate::schema::Schema;
use crate::value::Object;

/// What it opens needs neither renewal nor closing: the values are simply forgotten.
pub trait EphemeralResource: Send + Sync {
    /// With the provider's prefix: `k8sconnect_token`.
    fn type_name(&self) -> &str;

    fn schema(&self) -> Schema;

    /// Validates the configuration beyond the schema's rules. Values may be unknown.
    fn validate(&self, config: &Object) -> Diagnostics {
        let _ = config;
        Diagnostics::new()
    }

    /// Called at plan and again at apply, each time with a configuration that is wholly known.
    fn open(&self, request: OpenRequest) -> BoxFuture<'_, OpenResponse>;
}

#[derive(Debug)]
pub struct OpenRequest {
    pub config: Object,
    /// Whether the client accepts [`OpenResponse::deferred`].
    pub deferral_allowed: bool,
    /// Cancelled by StopProvider.
    pub stop: CancellationToken,
}

#[derive(Debug, Default)]
pub struct OpenResponse {
    /// `None` only with an error or a deferral.
    pub result: Option<Object>,
    pub deferred: Option<Deferral>,
    pub diagnostics: Diagnostics,
}
