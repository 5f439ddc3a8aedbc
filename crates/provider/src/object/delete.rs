//! Deleting an object: only ours, only with evidence that it is gone, and with a word about what holds it.

use std::time::Duration;

use cluster::{Delete, Deletion, ErrorKind, Propagation};
use diag::Diagnostic;
use manifest::ObjectRef;
use tfplugin::CancellationToken;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::private::Private;
use tfplugin::provider::ApplyResponse;
use tfplugin::value::Object;
use wait::GoDuration;

use super::{attributes, stamp};
use crate::clusters::Cluster;
use crate::context::{self, Context, Reach};
use crate::{codes, stop};

/// What a negative `delete_timeout` means: one look.
const ONE_LOOK: Duration = Duration::from_secs(2);
/// What a request that is under way may still take when Terraform stops the provider.
const GRACE: Duration = Duration::from_secs(2);

pub(super) async fn delete(
    context: &Context,
    prior: Object,
    private: Private,
    stop: &CancellationToken,
) -> ApplyResponse {
    let deleted = stop::unless(stop, GRACE, remove(context, &prior)).await;
    match deleted.unwrap_or_else(|| Err(Box::new(interrupted()))) {
        Ok(diagnostics) => ApplyResponse { diagnostics, ..ApplyResponse::default() },
        Err(error) => {
            ApplyResponse { state: Some(prior), private, identity: None, diagnostics: (*error).into() }
        }
    }
}

async fn remove(context: &Context, prior: &Object) -> Result<Diagnostics, Box<Diagnostic>> {
    if prior.get("delete_protection").as_bool() == Some(true) {
        return Err(Box::new(protected(prior)));
    }
    let cluster = match context.reach(prior.get("cluster")) {
        Ok(Reach::Ready(cluster)) => cluster,
        Ok(Reach::NotYet | Reach::Nowhere) => return Err(Box::new(context::nowhere())),
        Err(error) => return Err(Box::new(attributes::unprepared(&error))),
    };
    let Some(target) = attributes::target(prior) else { return Ok(Diagnostics::new()) };
    let _deletion = cluster.begin_deletion(&target);
    let live = match cluster.session().read(&target).await {
        Ok(live) => live,
        // A fresh and complete discovery lacks the kind, so there can be no object of it.
        Err(error) if matches!(error.kind(), ErrorKind::KindMissing(_)) => None,
        Err(error) => return Err(Box::new(error.diagnostic("Delete"))),
    };
    let Some(live) = live else {
        cluster.forget(&target);
        return Ok(Diagnostics::new());
    };
    // Another resource has taken the object over, as when the key of a for_each is renamed.
    if stamp::id_of(&live.object).is_some_and(|id| Some(id) != prior.text("id")) {
        return Ok(Diagnostics::new());
    }
    let how = Delete {
        propagation: Propagation::Background,
        uid: live.object["metadata"]["uid"].as_str().map(str::to_owned),
        timeout: timeout(prior, &target),
        force: prior.get("force_destroy").as_bool() == Some(true),
    };
    ask(&cluster, &target, &how).await
}

async fn ask(cluster: &Cluster, target: &ObjectRef, how: &Delete) -> Result<Diagnostics, Box<Diagnostic>> {
    let ended = cluster.session().delete(target, how).await;
    if matches!(ended, Ok(Deletion::Gone { .. } | Deletion::Taken | Deletion::Asked)) {
        cluster.forget(target);
    }
    match ended {
        Ok(Deletion::Gone { forced }) if !forced.is_empty() => Ok(forced_out(target, &forced).into()),
        Ok(Deletion::Gone { .. } | Deletion::Taken | Deletion::Asked) => Ok(Diagnostics::new()),
        Ok(Deletion::Stuck(stuck)) => Err(Box::new(stuck.diagnostic())),
        Err(error) => Err(Box::new(error.diagnostic("Delete"))),
    }
}

/// How long to wait until it is gone; by default, things that hold others take longer.
fn timeout(prior: &Object, target: &ObjectRef) -> Duration {
    if let Some(Ok(written)) = prior.text("delete_timeout").map(str::parse::<GoDuration>) {
        return written.to_std().unwrap_or(ONE_LOOK);
    }
    let minutes = match target.kind() {
        "Namespace" | "CustomResourceDefinition" => 15,
        "PersistentVolume" | "PersistentVolumeClaim" => 10,
        "StatefulSet" | "Job" | "CronJob" => 8,
        _ => 5,
    };
    Duration::from_secs(60 * minutes)
}

fn protected(prior: &Object) -> Diagnostic {
    let object =
        attributes::target(prior).map_or_else(|| "The object".to_owned(), |target| target.to_string());
    Diagnostic::error(codes::DELETE_PROTECTION, "Delete Protection Enabled")
        .detail(format!("{object} has delete_protection = true and is not deleted."))
        .hint("Set delete_protection = false, apply, and delete again.")
}

fn forced_out(target: &ObjectRef, finalizers: &[String]) -> Diagnostic {
    let list = finalizers.join("\n  - ");
    Diagnostic::warning(codes::FORCED, "Force Destroying Resource with Finalizers")
        .detail(format!("{target} was held by finalizers, which were taken away:\n\n  - {list}\n\nWhat they were there for was not done."))
        .object(target.to_string())
        .hint("Look for what is left behind, for instance in the cloud.")
}

fn interrupted() -> Diagnostic {
    Diagnostic::error(codes::INTERRUPTED, "Delete: Interrupted")
        .detail("Terraform was interrupted while the object was being deleted. It may still be there.")
        .hint("Run terraform destroy again.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_deletion_may_take_depends_on_the_kind() {
        let check = |kind: &str, written: Option<&str>, seconds: u64| {
            let target = ObjectRef::new(kind.parse().unwrap(), None, "a");
            let prior = Object::new().with("delete_timeout", written);
            assert_eq!(timeout(&prior, &target), Duration::from_secs(seconds), "{kind} {written:?}");
        };
        check("v1/Namespace", None, 900);
        check("apiextensions.k8s.io/v1/CustomResourceDefinition", None, 900);
        check("v1/PersistentVolumeClaim", None, 600);
        check("batch/v1/Job", None, 480);
        check("v1/ConfigMap", None, 300);
        check("v1/Namespace", Some("90s"), 90);
        check("v1/ConfigMap", Some("0s"), 0);
        check("v1/ConfigMap", Some("-1s"), 2);
    }
}
