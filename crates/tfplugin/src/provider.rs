//! The traits a provider implements, with their requests and responses.

mod action;
mod data_source;
mod deferral;
mod ephemeral_resource;
mod function;
mod list_resource;
mod resource;

use std::pin::Pin;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use action::{Action, ActionRequest, PlanActionResponse, Progress};
pub use data_source::{DataSource, ReadDataRequest, ReadDataResponse};
pub use deferral::Deferral;
pub use ephemeral_resource::{EphemeralResource, OpenRequest, OpenResponse};
pub use function::{Function, FunctionError, Parameter, Signature};
pub use list_resource::{ListRequest, ListResource, Listed, Results};
pub use resource::{
    ApplyRequest, ApplyResponse, Change, GenerateRequest, GenerateResponse, Identity, IdentityAttribute,
    IdentitySchema, ImportRequest, ImportResponse, ImportTarget, Imported, MoveRequest, MoveResponse,
    PlanRequest, PlanResponse, RawState, ReadRequest, ReadResponse, Resource, UpgradeRequest,
    UpgradeResponse,
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

    fn ephemeral_resources(&self) -> Vec<Arc<dyn EphemeralResource>> {
        Vec::new()
    }

    fn functions(&self) -> Vec<Arc<dyn Function>> {
        Vec::new()
    }

    fn list_resources(&self) -> Vec<Arc<dyn ListResource>> {
        Vec::new()
    }

    fn actions(&self) -> Vec<Arc<dyn Action>> {
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
