//! `k8sconnect_patch`: some fields of an object that is managed elsewhere.
//!
//! ```text
//! plan:  dry run of the patch ─▶ what changes, who is overruled      read: never writes
//! apply: the patch, as manager k8sconnect-patch-<id>                 destroy: releases the fields, values stay
//! ```

mod apply;
mod check;
mod content;
mod maps;
mod overlap;
mod plan;
mod read;
mod schema;
mod target_owner;
mod write_only;

use std::sync::Arc;

use diag::Diagnostic;
use manifest::ObjectRef;
use ownership::{FieldManager, Observed};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{
    ApplyRequest, ApplyResponse, BoxFuture, ImportRequest, ImportResponse, PlanRequest, PlanResponse,
    ReadRequest, ReadResponse, Resource, UpgradeRequest, UpgradeResponse,
};
use tfplugin::schema::Schema;
use tfplugin::value::Object;

use crate::codes;
use crate::context::Context;
use crate::object::projection_failed;
use crate::planned_change::{Decision, PlannedChange};
use crate::reference::Reference;
use crate::upgrade;
use crate::write_only::await_values;

const NO_CLIENT: &str = "Failed to Create Kubernetes Client";

pub(crate) struct Patch(pub(crate) Arc<Context>);

/// The field manager of a patch: each has its own. A patch without an id only makes dry runs.
fn manager(id: Option<&str>) -> FieldManager {
    FieldManager::new(format!("k8sconnect-patch-{}", id.unwrap_or("temp")))
}

fn reference(attributes: &Object) -> Result<Reference, Box<Diagnostic>> {
    let empty = Object::new();
    Reference::parse(attributes.get("target").as_object().unwrap_or(&empty), "Target Resource Not Found")
}

fn observed(target: &ObjectRef, object: Json) -> Result<Observed, Diagnostics> {
    Observed::new(object).map_err(|error| projection_failed(target, &error).into())
}

impl Resource for Patch {
    fn type_name(&self) -> &'static str {
        "k8sconnect_patch"
    }

    fn schema(&self) -> Schema {
        schema::schema()
    }

    fn upgrade(&self, request: UpgradeRequest) -> BoxFuture<'_, UpgradeResponse> {
        Box::pin(async move { upgrade::before_managed_fields(&request, &schema::schema()) })
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        schema::validate(config)
    }

    fn plan(&self, request: PlanRequest) -> BoxFuture<'_, PlanResponse> {
        Box::pin(async move {
            let change = PlannedChange::of(&request.change, &request.private, request.config.as_ref());
            // Another target means another patch, which Terraform plans as a create.
            let Some(change) = change.filter(|_| request.requires_replace.is_empty()) else {
                return request.accept();
            };
            if self.0.command().destroys() {
                return plan::not_applied(&change).respond(request);
            }
            let unknown = ["patch", "json_patch", "merge_patch"];
            if let Some(reason) = self.0.deferral(&request, &change.planned, &unknown) {
                return PlanResponse { deferred: Some(reason), ..request.accept() };
            }
            let unread = self.0.meets(change.prior.as_ref());
            let planned = plan::plan(&self.0, &change).await;
            let mut decision =
                planned.unwrap_or_else(|diagnostics| Decision::new(change.planned.clone(), diagnostics));
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
            if let Some(change) =
                PlannedChange::of(&request.change, &request.private, request.config.as_ref())
            {
                let hidden = change.hidden.clone();
                let mut response = apply::apply(&self.0, change, &request.stop).await;
                response.diagnostics = hidden.redact(response.diagnostics);
                return response;
            }
            let prior = request.change.prior().cloned().unwrap_or_default();
            apply::delete(&self.0, prior, request.private).await
        })
    }

    fn read(&self, request: ReadRequest) -> BoxFuture<'_, ReadResponse> {
        self.0.meets(Some(&request.state));
        Box::pin(read::read(&self.0, request))
    }

    fn import(&self, _: ImportRequest) -> BoxFuture<'_, ImportResponse> {
        Box::pin(async {
            let refusal = Diagnostic::error(codes::PATCH_IMPORT, "Import Not Supported")
                .detail("A patch is not an object: its fields are part of its target.")
                .hint("Write the resource and apply it; a patch that changes nothing takes over its fields.");
            ImportResponse { imported: None, diagnostics: refusal.into() }
        })
    }
}
