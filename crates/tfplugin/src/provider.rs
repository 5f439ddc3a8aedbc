//! The traits a provider implements, with their requests and responses.

mod data_source;
mod resource;

use std::pin::Pin;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use data_source::{DataSource, ReadDataRequest, ReadDataResponse};
pub use resource::{
    ApplyRequest, ApplyResponse, Change, Identity, IdentityAttribute, IdentitySchema, ImportRequest,
    ImportResponse, ImportTarget, Imported, MoveRequest, MoveResponse, PlanRequest, PlanResponse, RawState,
    ReadRequest, ReadResponse, Resource, UpgradeRequest, UpgradeResponse,
};

use crate::diagnostics::Diagnostics;
use crate::schema::Schema;
use crate::value::Object;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

pub trait Provider: Send + Sync {
    /// The attributes of the `provider` block.
    fn schema(&self) -> Schema {
        Schema::new()
    }

    /// Validates the configuration beyond the schema's rules. Values may be unknown.
    fn validate(&self, config: &Object) -> Diagnostics {
        let _ = config;
        Diagnostics::new()
    }

    /// Receives the configuration, which the provider shares with its resources. Unknown values are valid during a plan.
    fn configure(&self, request: ConfigureRequest) -> BoxFuture<'_, Diagnostics> {
        let _ = request;
        Box::pin(async { Diagnostics::new() })
    }

    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        Vec::new()
    }

    fn data_sources(&self) -> Vec<Arc<dyn DataSource>> {
        Vec::new()
    }
}

#[derive(Debug)]
pub struct ConfigureRequest {
    pub config: Object,
    /// Or OpenTofu's.
    pub terraform_version: String,
    /// Cancelled by StopProvider.
    pub stop: CancellationToken,
}
