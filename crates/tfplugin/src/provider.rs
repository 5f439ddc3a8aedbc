//! What a provider is: the traits to implement, and what they are asked and answer.

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

/// A future that can be a trait object's answer.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A provider: its configuration, and what it manages and reads.
pub trait Provider: Send + Sync {
    /// The attributes of the `provider` block.
    fn schema(&self) -> Schema {
        Schema::new()
    }

    /// Checks the configuration, in addition to the schema's own rules. Values may still be unknown.
    fn validate(&self, config: &Object) -> Diagnostics {
        let _ = config;
        Diagnostics::new()
    }

    /// Takes the configuration; what resources need of it, they share with the provider. During a plan, values may still
    /// be unknown, and that is no error.
    fn configure(&self, request: ConfigureRequest) -> BoxFuture<'_, Diagnostics> {
        let _ = request;
        Box::pin(async { Diagnostics::new() })
    }

    /// What the provider manages.
    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        Vec::new()
    }

    /// What the provider reads.
    fn data_sources(&self) -> Vec<Arc<dyn DataSource>> {
        Vec::new()
    }
}

/// The configuration of a provider, known as far as Terraform knows it.
#[derive(Debug)]
pub struct ConfigureRequest {
    /// The attributes of the `provider` block.
    pub config: Object,
    /// The version of Terraform, or of OpenTofu.
    pub terraform_version: String,
    /// Cancelled when Terraform wants the provider to stop.
    pub stop: CancellationToken,
}
