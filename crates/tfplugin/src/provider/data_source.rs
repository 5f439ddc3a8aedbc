//! What a provider reads without managing it.

use tokio_util::sync::CancellationToken;

use super::BoxFuture;
use crate::diagnostics::Diagnostics;
use crate::schema::Schema;
use crate::value::Object;

/// A type of data source.
pub trait DataSource: Send + Sync {
    /// Its type, with the provider's prefix: `k8sconnect_object`.
    fn type_name(&self) -> &str;

    /// Its attributes.
    fn schema(&self) -> Schema;

    /// Checks the configuration, in addition to the schema's own rules. Values may still be unknown.
    fn validate(&self, config: &Object) -> Diagnostics {
        let _ = config;
        Diagnostics::new()
    }

    /// Reads it. Terraform asks only once the configuration is wholly known.
    fn read(&self, request: ReadDataRequest) -> BoxFuture<'_, ReadDataResponse>;
}

/// A request to read a data source.
#[derive(Debug)]
pub struct ReadDataRequest {
    /// The configuration.
    pub config: Object,
    /// Cancelled when Terraform wants the provider to stop.
    pub stop: CancellationToken,
}

/// What was read.
#[derive(Debug, Default)]
pub struct ReadDataResponse {
    /// The attributes; none only with an error.
    pub state: Option<Object>,
    /// What there is to tell.
    pub diagnostics: Diagnostics,
}
