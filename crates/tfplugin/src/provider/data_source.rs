//! Data sources.

use tokio_util::sync::CancellationToken;

use super::{BoxFuture, Deferral};
use crate::diagnostics::Diagnostics;
use crate::schema::Schema;
use crate::value::Object;

pub trait DataSource: Send + Sync {
    /// With the provider's prefix: `k8sconnect_object`.
    fn type_name(&self) -> &str;

    fn schema(&self) -> Schema;

    /// Validates the configuration beyond the schema's rules. Values may be unknown.
    fn validate(&self, config: &Object) -> Diagnostics {
        let _ = config;
        Diagnostics::new()
    }

    /// Called only once the configuration is wholly known.
    fn read(&self, request: ReadDataRequest) -> BoxFuture<'_, ReadDataResponse>;
}

#[derive(Debug)]
pub struct ReadDataRequest {
    pub config: Object,
    /// Whether the client accepts [`ReadDataResponse::deferred`].
    pub deferral_allowed: bool,
    /// Cancelled by StopProvider.
    pub stop: CancellationToken,
}

#[derive(Debug, Default)]
pub struct ReadDataResponse {
    /// `None` only with an error or a deferral.
    pub state: Option<Object>,
    pub deferred: Option<Deferral>,
    pub diagnostics: Diagnostics,
}
