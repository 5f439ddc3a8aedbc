//! `k8sconnect_object`: one Kubernetes object, applied by server-side apply.
//!
//! ```text
//! plan:  dry_run (asks the cluster) ─▶ Outcome ─▶ decide (pure) ─▶ what Terraform shows
//! apply: write (create, update) · delete      read: refresh      import · upgrade · move_state
//! ```

mod annotations;
mod apply;
mod attributes;
mod decide;
mod delete;
mod dry_run;
mod existing;
mod generate;
mod import;
mod import_id;
mod list;
mod move_state;
#[cfg(feature = "parity")]
pub mod parity;
mod read;
mod rejected;
mod schema;
mod validate;
mod wait_for;
mod write_only;

use std::sync::Arc;

use ownership::FieldManager;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{
    ApplyRequest, ApplyResponse, BoxFuture, GenerateRequest, GenerateResponse, IdentitySchema, ImportRequest,
    ImportResponse, MoveRequest, MoveResponse, PlanRequest, PlanResponse, ReadRequest, ReadResponse,
    Resource, UpgradeRequest, UpgradeResponse,
};
use tfplugin::schema::Schema;
use tfplugin::value::Object as Attributes;

use crate::context::Context;
use crate::planned_change::{Decision, PlannedChange};
use crate::write_only::await_values;
use crate::{identity, upgrade};

pub(crate) use annotations::{id_of, new_id};
pub(crate) use decide::projection_failed;
pub(crate) use list::ListedObjects;

/// The field manager of objects.
pub(crate) const MANAGER: &str = "k8sconnect";

/// The title of the error about an unusable connection.
const NO_CLIENT: &str = "Preparation Failed";

pub(crate) fn manager() -> FieldManager {
    FieldManager::new(MANAGER)
}

pub(crate) struct Object(pub(crate) Arc<Context>);

impl Resource for Object {
    fn type_name(&self) -> &'static str {
        "k8sconnect_object"
    }

    fn schema(&self) -> Schema {
        schema::schema()
    }

    fn identity(&self) -> Option<IdentitySchema> {
        Some(identity::schema())
    }

    fn validate(&self, config: &Attributes) -> Diagnostics {
        validate::validate(config)
    }

    fn plan(&self, request: PlanRequest) -> BoxFuture<'_, PlanResponse> {
        Box::pin(async move {
            let config = request.config.as_ref();
            let Some(change) = PlannedChange::of(&request.change, &request.private, config) else {
                return request.accept();
            };
            if self.0.command().destroys() {
                return decide::not_applied(&change).respond(request);
            }
            if let Some(reason) = self.0.deferral(&request, &change.planned, &["yaml_body"]) {
                return PlanResponse { deferred: Some(reason), ..request.accept() };
            }
            let unread = self.0.meets(change.prior.as_ref());
            let mut decision = match dry_run::dry_run(&self.0, &change).await {
                Ok(outcome) => decide::decide(&change, outcome, self.0.reporting(&change.planned)),
                Err(diagnostics) => Decision::new(change.planned.clone(), diagnostics),
            };
            await_values(write_only::NAMES, &change, &mut decision.planned);
            if unread {
                decision = decision.of_unread(self.0.command());
            }
            decision.diagnostics = change.hidden.redact(decision.diagnostics);
            decision.respond(request)
        })
    }

    fn apply(&self, request: ApplyRequest) -> BoxFuture<'_, ApplyResponse> {
        Box::pin(async move {
            let config = request.config.as_ref();
            if let Some(change) = PlannedChange::of(&request.change, &request.private, config) {
                let hidden = change.hidden.clone();
                let mut response = apply::apply(&self.0, change, &request.stop).await;
                response.diagnostics = hidden.redact(response.diagnostics);
                return response;
            }
            let prior = request.change.prior().cloned().unwrap_or_default();
            delete::delete(&self.0, prior, request.private, &request.stop).await
        })
    }

    fn read(&self, request: ReadRequest) -> BoxFuture<'_, ReadResponse> {
        self.0.meets(Some(&request.state));
        Box::pin(read::read(&self.0, request))
    }

    fn import(&self, request: ImportRequest) -> BoxFuture<'_, ImportResponse> {
        Box::pin(async move {
            match import::import(&self.0, &request.target).await {
                Ok((imported, diagnostics)) => ImportResponse { imported: Some(imported), diagnostics },
                Err(diagnostic) => ImportResponse { imported: None, diagnostics: (*diagnostic).into() },
            }
        })
    }

    fn generate_config(&self, request: GenerateRequest) -> BoxFuture<'_, GenerateResponse> {
        Box::pin(generate::generate(&self.0, request))
    }

    fn upgrade(&self, request: UpgradeRequest) -> BoxFuture<'_, UpgradeResponse> {
        Box::pin(async move { upgrade::before_managed_fields(&request, &schema::schema()) })
    }

    fn move_state(&self, request: MoveRequest) -> BoxFuture<'_, Option<MoveResponse>> {
        Box::pin(async move { move_state::take_over(&request) })
    }
}
