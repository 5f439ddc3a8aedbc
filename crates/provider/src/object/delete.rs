//! Deletes an object: only ours, only with evidence that it is gone, and with an explanation of what holds it.

use std::time::Duration;

use cluster::{Class, Delete, Deletion, Error, Reply};
use diag::Diagnostic;
use manifest::{GoDuration, ObjectRef};
use tfplugin::CancellationToken;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::private::Private;
use tfplugin::provider::ApplyResponse;
use tfplugin::value::Object;

use super::{NO_CLIENT, annotations, attributes};
use crate::clusters::Cluster;
use crate::context::Context;
use crate::{cluster_identity, codes, stop};

/// A negative `delete_timeout` allows for a single check.
const SINGLE_CHECK: Duration = Duration::from_secs(2);
/// How long a request in flight may still take when Terraform stops the provider.
const GRACE: Duration = Duration::from_secs(2);

pub(super) async fn delete(
    context: &Context,
    prior: Object,
    private: Private,
    stop: &CancellationToken,
) -> ApplyResponse {
    let deleted = stop::run_unless_stopped(stop, GRACE, remove(context, &prior, &private)).await;
    match deleted.unwrap_or_else(|| Err(Box::new(interrupted()))) {
        Ok(diagnostics) => ApplyResponse { diagnostics, ..ApplyResponse::default() },
        Err(error) => {
            ApplyResponse { state: Some(prior), private, identity: None, diagnostics: (*error).into() }
        }
    }
}

async fn remove(
    context: &Context,
    prior: &Object,
    private: &Private,
) -> Result<Diagnostics, Box<Diagnostic>> {
    if prior.get("delete_protection").as_bool() == Some(true) {
        return Err(Box::new(protected(prior)));
    }
    let stored = context.known_cluster(prior.get("cluster"), NO_CLIENT);
    let Some(target) = attributes::target(prior) else { return stored.map(|_| Diagnostics::new()) };
    let failed = |error: &Error| Box::new(error.diagnostic("Delete"));
    let rejection = match stored {
        Err(unusable) => unusable,
        Ok(cluster) => match remove_from(&cluster, prior, &target).await {
            Ok(deletion) => return outcome(deletion, &target),
            // Other credentials may work.
            Err(error) if error.class() == Class::AuthenticationFailed => failed(&error),
            Err(error) => return Err(failed(&error)),
        },
    };
    match cluster_identity::provider_cluster(context, prior) {
        Some(cluster) if is_there(&cluster, prior, private, &target).await => {
            let deletion = remove_from(&cluster, prior, &target).await.map_err(|error| failed(&error))?;
            outcome(deletion, &target)
        }
        _ => Err(Box::new(rejection.hint(
            "Deleting uses the connection in the state. Apply once with new credentials to store them there, or give the \
             provider block a `cluster` that leads to the same cluster.",
        ))),
    }
}

/// Whether there is proof that the object of this state is, or was, in `cluster`.
async fn is_there(cluster: &Cluster, prior: &Object, private: &Private, target: &ObjectRef) -> bool {
    if cluster_identity::is_proven(private, cluster).await {
        return true;
    }
    match cluster.session().read(target).await {
        Ok(Some(live)) => annotations::id_of(&live.object).is_some_and(|id| Some(id) == prior.text("id")),
        _ => false,
    }
}

async fn remove_from(cluster: &Cluster, prior: &Object, target: &ObjectRef) -> Result<Deletion, Error> {
    let _deletion = cluster.begin_deletion(target);
    // The read may be a few seconds old, so only that version is deleted.
    let deleted = match cluster.read(target).await {
        Ok(live) => request(cluster, prior, target, live, true).await,
        Err(error) => Err(error),
    };
    let deleted = match deleted {
        Err(error) if error.status().is_some_and(|status| status.code == 409) => {
            match cluster.session().read(target).await {
                Ok(live) => request(cluster, prior, target, live, false).await,
                Err(error) => Err(error),
            }
        }
        deleted => deleted,
    };
    let deleted = match deleted {
        // No version of the kind is in a fresh and complete discovery, so no object of it can exist.
        Err(error) if error.is_kind_absent() => Ok(Deletion::Gone { forced: Vec::new() }),
        // The object outlives the version it was written with.
        Err(error) => match error.served_target(target) {
            Some(served) => Box::pin(remove_from(cluster, prior, &served)).await,
            None => Err(error),
        },
        deleted => deleted,
    };
    if deleted.as_ref().is_ok_and(|deletion| !matches!(deletion, Deletion::Stuck(_))) {
        cluster.forget(target);
    }
    deleted
}

/// Deletes `live`; if `is_pinned`, only the version that was read.
async fn request(
    cluster: &Cluster,
    prior: &Object,
    target: &ObjectRef,
    live: Option<Reply>,
    is_pinned: bool,
) -> Result<Deletion, Error> {
    let Some(Reply { object: live, .. }) = live else { return Ok(Deletion::Gone { forced: Vec::new() }) };
    // Another resource has taken over the object, for instance because the key of a for_each was renamed.
    if annotations::id_of(&live).is_some_and(|id| Some(id) != prior.text("id")) {
        return Ok(Deletion::Recreated);
    }
    let text = |field: &str| live["metadata"][field].as_str().map(str::to_owned);
    let usual = Delete::of(target);
    let how = Delete {
        uid: text("uid"),
        version: text("resourceVersion").filter(|_| is_pinned),
        timeout: timeout(prior).unwrap_or(usual.timeout),
        force: prior.get("force_destroy").as_bool() == Some(true),
        ..usual
    };
    cluster.session().delete(target, &how).await
}

fn outcome(deletion: Deletion, target: &ObjectRef) -> Result<Diagnostics, Box<Diagnostic>> {
    match deletion {
        Deletion::Stuck(stuck) => Err(Box::new(stuck.diagnostic().hint(
            "Allow more time with delete_timeout, let the controllers behind the finalizers finish, or set \
             force_destroy to remove the finalizers.",
        ))),
        deletion => Ok(deletion.warning(target).into_iter().collect()),
    }
}

/// The `delete_timeout`, if it is set and valid.
fn timeout(prior: &Object) -> Option<Duration> {
    let written: GoDuration = prior.text("delete_timeout")?.parse().ok()?;
    Some(written.to_std().unwrap_or(SINGLE_CHECK))
}

fn protected(prior: &Object) -> Diagnostic {
    let object =
        attributes::target(prior).map_or_else(|| "The object".to_owned(), |target| target.to_string());
    Diagnostic::error(codes::DELETE_PROTECTION, "Delete Protection Enabled")
        .detail(format!("{object} has delete_protection = true and is not deleted."))
        .hint("Set delete_protection = false, apply, and delete again.")
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
    fn delete_timeout_overrides_the_default_and_a_negative_one_means_a_single_check() {
        let check = |written: Option<&str>, seconds: Option<u64>| {
            let prior = Object::new().with("delete_timeout", written);
            assert_eq!(timeout(&prior), seconds.map(Duration::from_secs), "{written:?}");
        };
        check(None, None);
        check(Some("soon"), None);
        check(Some("90s"), Some(90));
        check(Some("0s"), Some(0));
        check(Some("-1s"), Some(2));
    }
}
