//! The action `k8sconnect_scale`: sets the replicas of an object through its scale subresource.

use std::sync::Arc;

use cluster::{ApiStatus, Write};
use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::provider::{Action, ActionRequest, BoxFuture, PlanActionResponse, Progress};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::{Object, Value};

use super::target::{self, Target};
use crate::context::Context;
use crate::{codes, connection};

const MANAGER: &str = "k8sconnect-scale";

pub(super) struct Scale(pub(super) Arc<Context>);

impl Action for Scale {
    fn type_name(&self) -> &'static str {
        "k8sconnect_scale"
    }

    fn schema(&self) -> Schema {
        let replicas = Attribute::required("replicas", Type::Number)
            .description("The number of replicas.")
            .validate(check_replicas);
        let about = "Scales an object that has a scale subresource, and waits until the rollout is complete. A \
                     `k8sconnect_object` that sets `spec.replicas` sets it back at its next apply; give it \
                     `ignore_fields = [\"spec.replicas\"]`.";
        target::schema(about).attribute(replicas)
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        connection::validate(config.get("cluster"))
    }

    fn plan(&self, request: ActionRequest) -> BoxFuture<'_, PlanActionResponse> {
        Box::pin(target::plan(&self.0, request, |target, config| async move {
            send(&target, &config, Write::by(MANAGER).dry_run()).await
        }))
    }

    fn invoke(&self, request: ActionRequest, progress: Progress) -> BoxFuture<'_, Diagnostics> {
        Box::pin(async move {
            let work = scale(&self.0, &request.config, &progress);
            target::unless_stopped(&request, "Scale Interrupted", work).await
        })
    }
}

async fn scale(context: &Context, config: &Object, progress: &Progress) -> Result<Diagnostics, Diagnostics> {
    let target = Target::find(context, config, "Scale").await?;
    send(&target, config, Write::by(MANAGER).dry_run()).await?;
    send(&target, config, Write::by(MANAGER)).await?;
    progress.report(format!("scaling {} to {}", target.object, replicas(config)));
    if !readiness::has_rule(target.object.group(), target.object.kind()) {
        return Ok(Diagnostics::new());
    }
    target::rollout(&target, target::timeout(config), progress).await
}

async fn send(target: &Target, config: &Object, write: Write<'_>) -> Result<Diagnostics, Diagnostics> {
    let patch = json!({"spec": {"replicas": replicas(config)}});
    match target.session().patch_at(&target.object, "scale", &patch, write).await {
        Ok(_) => Ok(Diagnostics::new()),
        Err(error) if error.status().is_some_and(ApiStatus::concerns_the_path) => {
            Err(no_scale(&target.object).into())
        }
        Err(error) => Err(target::failed(&error, "Scale")),
    }
}

fn no_scale(object: &ObjectRef) -> Diagnostic {
    Diagnostic::error(codes::ACTION_REFUSED, "Scale Refused")
        .detail(format!("{object} has no scale subresource, so it has no replicas to set."))
        .object(object.to_string())
        .hint("Scale a Deployment, StatefulSet, ReplicaSet or an object of a custom kind with the subresource `scale`.")
}

fn replicas(config: &Object) -> i64 {
    config.get("replicas").as_i64().unwrap_or_default()
}

fn check_replicas(value: &Value, path: &Path) -> Diagnostics {
    match value.as_i64() {
        Some(replicas) if replicas >= 0 => Diagnostics::new(),
        _ => Diagnostic::error(codes::ACTION_REFUSED, "Invalid Replicas")
            .detail(format!("{path} is not a whole number of replicas."))
            .hint("Use 0 or more.")
            .into(),
    }
}
