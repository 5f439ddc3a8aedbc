//! List resources: what exists, for `terraform query`.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{BoxFuture, Identity};
use crate::diagnostics::Diagnostics;
use crate::schema::Schema;
use crate::value::Object;

/// Lists instances of the resource of the same type, which must have an identity.
pub trait ListResource: Send + Sync {
    /// That of the resource.
    fn type_name(&self) -> &str;

    /// The attributes of the `config` block.
    fn schema(&self) -> Schema;

    /// Validates the configuration beyond the schema's rules. Values may be unknown.
    fn validate(&self, config: &Object) -> Diagnostics {
        let _ = config;
        Diagnostics::new()
    }

    /// Sends every instance as soon as it is known, until there are no more, `limit` is reached or `results` is closed.
    fn list(&self, request: ListRequest, results: Results) -> BoxFuture<'_, Diagnostics>;
}

#[derive(Debug)]
pub struct ListRequest {
    pub config: Object,
    /// Whether to send the state of each instance, too.
    pub include_resource: bool,
    /// The most instances that Terraform reads.
    pub limit: usize,
    /// Cancelled by StopProvider.
    pub stop: CancellationToken,
}

/// An instance that exists.
#[derive(Debug)]
pub struct Listed {
    pub identity: Identity,
    /// For people.
    pub display_name: String,
    /// What a read would return, if it was asked for.
    pub resource: Option<Object>,
}

/// Where a list resource sends what it finds. Terraform reads at its own pace, and may stop early.
#[derive(Debug)]
pub struct Results(pub(crate) mpsc::Sender<Listed>);

impl Results {
    /// Returns whether Terraform reads on.
    pub async fn send(&self, listed: Listed) -> bool {
        self.0.send(listed).await.is_ok()
    }
}
