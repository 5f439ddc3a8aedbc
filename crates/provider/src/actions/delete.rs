//! The action `k8sconnect_delete`: deletes an object, and reports what holds it.

use std::sync::Arc;
use std::time::Duration;

use cluster::{Delete, Deletion};
use manifest::ObjectRef;
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{Action, ActionRequest, BoxFuture, PlanActionResponse, Progress};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::Object;
use tokio::time::Instant;

use super::target::{self, Target};
use crate::connection;
use crate::context::Context;

/// How often it is looked what holds an object.
const INTERVAL: Duration = Duration::from_secs(3);
/// The same for a namespace after the first time, because all of its kinds are listed.
const NAMESPACE_INTERVAL: Duration = Duration::from_secs(15);
/// How many kinds in a namespace are named.
const MOST_KINDS: usize = 5;

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
    let (mut reported, mut interval) = (String::new(), INTERVAL);
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        let timeout = rest.min(interval);
        // Only the last attempt may remove finalizers: until then their controllers have time.
        let force = force && timeout == rest && !rest.is_zero();
        let how = Delete { uid: uid.clone(), timeout, force, ..Delete::of(&target.object) };
        let deleted = target.session().delete(&target.object, &how).await;
        target.cluster.invalidate(&target.object);
        match deleted.map_err(|error| target::failed(&error, "Delete"))? {
            Deletion::Stuck(stuck) if timeout < rest => {
                let reason = reason(&stuck.finalizers(), &stuck.content(), stuck.live.as_ref());
                if reason != reported {
                    progress.report(reason.clone());
                    reported = reason;
                }
                if is_namespace(&target.object) {
                    interval = NAMESPACE_INTERVAL;
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

fn is_namespace(object: &ObjectRef) -> bool {
    object.group().is_empty() && object.kind() == "Namespace"
}

/// Why an object is still there: its finalizers, what is left in it, or the time that its Pods have.
fn reason(finalizers: &[String], content: &[(String, usize)], live: Option<&Json>) -> String {
    if !content.is_empty() {
        let named = content.iter().take(MOST_KINDS).map(|(kind, count)| format!("{count} {kind}"));
        let named = named.collect::<Vec<_>>().join(", ");
        let rest: usize = content.iter().skip(MOST_KINDS).map(|(_, count)| count).sum();
        let rest = if rest > 0 { format!(" and {rest} of other kinds") } else { String::new() };
        return format!("it still contains {named}{rest}");
    }
    if !finalizers.is_empty() {
        return format!("held by its finalizers: {}", finalizers.join(", "));
    }
    let metadata = live.map(|live| &live["metadata"]);
    let grace = metadata.and_then(|metadata| metadata["deletionGracePeriodSeconds"].as_i64());
    let ends = metadata.and_then(|metadata| metadata["deletionTimestamp"].as_str());
    match (grace, ends) {
        (Some(grace), Some(ends)) if grace > 0 => {
            format!("it has {grace} s to stop, until {ends}")
        }
        _ => "it still exists".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_progress_says_what_holds_an_object() {
        let check = |finalizers: &[&str], content: &[(&str, usize)], live: Json, expected: &str| {
            let finalizers: Vec<String> = finalizers.iter().map(|name| (*name).to_owned()).collect();
            let content: Vec<_> = content.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
            assert_eq!(reason(&finalizers, &content, Some(&live)), expected);
        };
        check(&["example.com/hold", "b"], &[], json!({}), "held by its finalizers: example.com/hold, b");
        check(&["kubernetes"], &[("Pod", 3), ("Secret", 1)], json!({}), "it still contains 3 Pod, 1 Secret");
        let many = [("A", 7), ("B", 6), ("C", 5), ("D", 4), ("E", 3), ("F", 2), ("G", 1)];
        check(&[], &many, json!({}), "it still contains 7 A, 6 B, 5 C, 4 D, 3 E and 3 of other kinds");
        let stopping = json!({"metadata": {"deletionGracePeriodSeconds": 30, "deletionTimestamp": "2026-01-01T00:00:30Z"}});
        check(&[], &[], stopping, "it has 30 s to stop, until 2026-01-01T00:00:30Z");
        check(&[], &[], json!({}), "it still exists");
    }
}
