//! The action `k8sconnect_restart`: replaces the Pods of a workload, as `kubectl rollout restart` does.

use std::sync::Arc;

use cluster::{PatchType, Write};
use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::{Value as Json, json};
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::provider::{Action, ActionRequest, BoxFuture, PlanActionResponse, Progress};
use tfplugin::schema::Schema;
use tfplugin::value::Object;

use super::target::{self, Target};
use crate::context::Context;
use crate::{codes, connection};

const MANAGER: &str = "k8sconnect-restart";
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
const KINDS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];
const REFUSED: &str = "Restart Refused";

pub(super) struct Restart(pub(super) Arc<Context>);

impl Action for Restart {
    fn type_name(&self) -> &'static str {
        "k8sconnect_restart"
    }

    fn schema(&self) -> Schema {
        target::schema(
            "Restarts the Pods of a Deployment, StatefulSet or DaemonSet, and waits until the rollout is complete.",
        )
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        let mut diagnostics = connection::validate(config.get("cluster"));
        if let Some(kind) = config.text("kind").filter(|kind| !KINDS.contains(kind)) {
            let unknown = Diagnostic::error(codes::ACTION_KIND, "Restart Not Supported")
                .detail(format!("A {kind} has no rollout to restart."))
                .hint("Restart a Deployment, a StatefulSet or a DaemonSet.");
            diagnostics.add_at(Path::of("kind"), unknown);
        }
        diagnostics
    }

    fn plan(&self, request: ActionRequest) -> BoxFuture<'_, PlanActionResponse> {
        Box::pin(target::plan(&self.0, request, |target, _| async move { check(&target).await }))
    }

    fn invoke(&self, request: ActionRequest, progress: Progress) -> BoxFuture<'_, Diagnostics> {
        Box::pin(async move {
            let work = restart(&self.0, &request.config, &progress);
            target::unless_stopped(&request, "Restart Interrupted", work).await
        })
    }
}

async fn restart(
    context: &Context,
    config: &Object,
    progress: &Progress,
) -> Result<Diagnostics, Diagnostics> {
    let target = Target::find(context, config, "Restart").await?;
    check(&target).await?;
    let write = Write::by(MANAGER);
    let sent = target.session().patch(&target.object, PatchType::Merge, &patch(), write).await;
    sent.map_err(|error| target::failed(&error, "Restart"))?;
    progress.report(format!("restarting {}", target.object));
    target::rollout(&target, target::timeout(config), progress).await
}

/// Whether the object exists, rolls out, and may be changed.
async fn check(target: &Target) -> Result<Diagnostics, Diagnostics> {
    let live = target.session().read(&target.object).await;
    let Some(live) = live.map_err(|error| target::failed(&error, "Restart"))? else {
        return Err(target::absent(&target.object, REFUSED).into());
    };
    if live.object["spec"]["paused"] == true {
        return Err(paused(&target.object).into());
    }
    if live.object["spec"]["updateStrategy"]["type"] == "OnDelete" {
        return Err(replaced_on_delete(&target.object).into());
    }
    let write = Write::by(MANAGER).dry_run();
    let sent = target.session().patch(&target.object, PatchType::Merge, &patch(), write).await;
    sent.map_err(|error| target::failed(&error, "Restart"))?;
    Ok(Diagnostics::new())
}

fn patch() -> Json {
    let now = jiff::Timestamp::now().to_string();
    json!({"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: now}}}}})
}

fn paused(object: &ObjectRef) -> Diagnostic {
    Diagnostic::error(codes::ACTION_REFUSED, REFUSED)
        .detail(format!("{object} is paused, so its Pods would not be replaced."))
        .object(object.to_string())
        .hint("Set spec.paused to false first.")
}

fn replaced_on_delete(object: &ObjectRef) -> Diagnostic {
    Diagnostic::error(codes::ACTION_REFUSED, REFUSED)
        .detail(format!(
            "{object} has the update strategy OnDelete: a Pod is replaced only once it has been deleted."
        ))
        .object(object.to_string())
        .hint("Delete its Pods, or set spec.updateStrategy.type to RollingUpdate first.")
}
