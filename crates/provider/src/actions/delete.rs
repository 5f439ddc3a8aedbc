//! The action `k8sconnect_delete`: deletes an object, and reports what holds it.

use std::sync::Arc;
use std::time::Duration;

use cluster::{Delete, Deletion};
use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{Action, ActionRequest, BoxFuture, PlanActionResponse, Progress};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::Object;
use tokio::time::Instant;

use super::target::{self, Target};
use crate::connection;
use crate::context::Context;

/// How often what holds an object is reported.
const INTERVAL: Duration = Duration::from_secs(3);

pub(super) struct DeleteObject(pub(super) Arc<Context>);

impl Action for DeleteObject {
    fn type_name(&self) -> &'static str {
        "k8sconnect_delete"
    }

    fn schema(&self) -> Schema {
        let force = Attribute::optional("force", Type::Bool).description(
            "Whether to remove the finalizers once `timeout` has passed. Their controllers then do not clean up.",
        );
        target::schema(
            "Deletes an object, and waits until it is gone. An object that does not exist is not an error.",
        )
        .attribute(force)
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        connection::validate(config.get("cluster"))
    }

    fn plan(&self, request: ActionRequest) -> BoxFuture<'_, PlanActionResponse> {
        Box::pin(target::plan(&self.0, request, |target, _| async move {
            check(&target).await.map(|_| Diagnostics::new())
        }))
    }

    fn invoke(&self, request: ActionRequest, progress: Progress) -> BoxFuture<'_, Diagnostics> {
        Box::pin(async move {
            let work = delete(&self.0, &request.config, &progress);
            target::unless_stopped(&request, "Delete Interrupted", work).await
        })
    }
}

async fn check(target: &Target) -> Result<bool, Diagnostics> {
    target.session().try_delete(&target.object).await.map_err(|error| target::failed(&error, "Delete"))
}

async fn delete(context: &Context, config: &Object, progress: &Progress) -> Result<Diagnostics, Diagnostics> {
    let target = Target::find(context, config, "Delete").await?;
    if !check(&target).await? {
        progress.report(format!("{} does not exist", target.object));
        return Ok(Diagnostics::new());
    }
    let live = target.session().read(&target.object).await;
    let live = live.map_err(|error| target::failed(&error, "Delete"))?;
    let uid = live.and_then(|reply| reply.object["metadata"]["uid"].as_str().map(str::to_owned));
    progress.report(format!("deleting {}", target.object));
    let deadline = Instant::now() + target::timeout(config);
    let force = config.get("force").as_bool() == Some(true);
    let mut held = Vec::new();
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        let timeout = rest.min(INTERVAL);
        // Only the last attempt may remove finalizers: until then their controllers have time.
        let force = force && timeout == rest && !rest.is_zero();
        let how = Delete { uid: uid.clone(), timeout, force, ..Delete::of(&target.object) };
        let deleted = target.session().delete(&target.object, &how).await;
        target.cluster.invalidate(&target.object);
        match deleted.map_err(|error| target::failed(&error, "Delete"))? {
            Deletion::Stuck(stuck) if timeout < rest => {
                let finalizers = stuck.finalizers();
                if finalizers != held {
                    progress.report(format!("held by {}", shown(&finalizers)));
                    held = finalizers;
                }
            }
            Deletion::Stuck(stuck) => {
                let hint = "Allow more time, let the controllers behind the finalizers finish, or set force.";
                return Err(stuck.diagnostic().hint(hint).into());
            }
            deletion => return Ok(deletion.warning(&target.object).into_iter().collect()),
        }
    }
}

fn shown(finalizers: &[String]) -> String {
    if finalizers.is_empty() {
        return "nothing that it names".to_owned();
    }
    format!("its finalizers: {}", finalizers.join(", "))
}
