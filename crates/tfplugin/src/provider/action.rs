//! Actions: operations without a state, such as a restart.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{BoxFuture, Deferral};
use crate::diagnostics::Diagnostics;
use crate::schema::Schema;
use crate::value::Object;

pub trait Action: Send + Sync {
    /// With the provider's prefix: `k8sconnect_restart`.
    fn type_name(&self) -> &str;

    fn schema(&self) -> Schema;

    /// Validates the configuration beyond the schema's rules. Values may be unknown.
    fn validate(&self, config: &Object) -> Diagnostics {
        let _ = config;
        Diagnostics::new()
    }

    /// Checks whether the action would succeed. Values may be unknown.
    fn plan(&self, request: ActionRequest) -> BoxFuture<'_, PlanActionResponse>;

    /// Performs the action. Terraform may plan long before, so it repeats the checks.
    fn invoke(&self, request: ActionRequest, progress: Progress) -> BoxFuture<'_, Diagnostics>;
}

#[derive(Debug)]
pub struct ActionRequest {
    pub config: Object,
    /// Whether the client accepts [`PlanActionResponse::deferred`].
    pub deferral_allowed: bool,
    /// Cancelled by StopProvider. An action in progress ends by itself, so that it can report what it did.
    pub stop: CancellationToken,
}

#[derive(Debug, Default)]
pub struct PlanActionResponse {
    pub deferred: Option<Deferral>,
    pub diagnostics: Diagnostics,
}

/// Tells the user what an action is doing.
#[derive(Clone, Debug)]
pub struct Progress(pub(crate) mpsc::UnboundedSender<String>);

impl Progress {
    pub fn report(&self, message: impl Into<String>) {
        // Without a reader there is no one to tell, and the action continues.
        let _ = self.0.send(message.into());
    }
}
