//! Identifies the cluster of a resource by the uid of its namespace kube-system, which does not depend on the
//! connection.

use std::sync::Arc;

use diag::Diagnostic;
use tfplugin::private::Private;
use tfplugin::value::{Object, Value};

use crate::clusters::Cluster;
use crate::codes;
use crate::context::{Context, Reach};
use crate::planned_change::PlannedChange;
use crate::private::Keys as _;

/// The parts of a connection that locate the cluster; the others authenticate.
const ENDPOINT: [&str; 4] = ["host", "kubeconfig", "context", "proxy_url"];

/// Whether the stored uid belongs to another cluster than `cluster`.
pub(crate) async fn is_elsewhere(private: &Private, cluster: &Cluster) -> bool {
    match private.cluster_uid() {
        None => false,
        Some(kept) => cluster.uid().await.ok().flatten().is_some_and(|uid| uid != kept),
    }
}

/// Stores the uid of the cluster. If it cannot be read now, the old value stays.
pub(crate) async fn keep(private: &mut Private, cluster: &Cluster) {
    if let Ok(uid) = cluster.uid().await {
        private.set_cluster_uid(uid);
    }
}

/// Whether a changed connection leads to another cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// The same cluster, or the same connection.
    No,
    Yes,
    /// Neither cluster's uid proves it.
    Unproven,
}

/// Whether the planned connection, to `now`, leads to another cluster than the one in the state.
pub(crate) async fn moved(context: &Context, change: &PlannedChange, now: &Cluster) -> Moved {
    let Some(prior) = &change.prior else { return Moved::No };
    let (before, after) = (prior.get("cluster"), change.planned.get("cluster"));
    if before == after || ENDPOINT.iter().all(|name| part(before, name) == part(after, name)) {
        return Moved::No;
    }
    let former = match change.private.cluster_uid() {
        Some(uid) => Some(uid),
        // A state of the Go provider does not store the uid; the cluster itself may reveal it.
        None => match context.reach(before) {
            Ok(Reach::Ready(cluster)) => cluster.uid().await.ok().flatten().map(str::to_owned),
            _ => None,
        },
    };
    match (former, now.uid().await.ok().flatten()) {
        (Some(former), Some(now)) if former == now => Moved::No,
        (Some(_), Some(_)) => Moved::Yes,
        _ => Moved::Unproven,
    }
}

fn part(connection: &Value, name: &str) -> Option<Value> {
    connection.as_object().map(|object| object.get(name).clone())
}

/// The provider's own cluster, for a state whose credentials no longer work: a destroy has no configuration to take new
/// ones from. The caller must prove that it is the same cluster.
pub(crate) fn with_the_providers_credentials(context: &Context, prior: &Object) -> Option<Arc<Cluster>> {
    if prior.get("cluster").is_null() {
        return None;
    }
    match context.reach(&Value::Null) {
        Ok(Reach::Ready(cluster)) => Some(cluster),
        _ => None,
    }
}

/// Whether `cluster` is proven to be the stored one.
pub(crate) async fn is_same(private: &Private, cluster: &Cluster) -> bool {
    let kept = private.cluster_uid();
    kept.is_some() && cluster.uid().await.ok().flatten() == kept.as_deref()
}

/// The warning about a replacement; `what` says what happens in the old cluster and in the new one.
pub(crate) fn replaced(what: &str) -> Diagnostic {
    Diagnostic::warning(codes::CLUSTER_CHANGED, "Cluster Changed - Replacement Required")
        .detail(format!("The connection leads to another cluster. {what}"))
        .hint("Revert the connection to keep it where it is.")
}

/// The warning that the cluster cannot be verified; `what` says what is assumed to be the same.
pub(crate) fn unproven(what: &str) -> Diagnostic {
    Diagnostic::warning(codes::CLUSTER_UNPROVEN, "Cluster May Have Changed")
        .detail(format!(
            "The connection is another one, and whether it leads to the same cluster could not be found out: the uid of \
             the namespace kube-system cannot be read. {what} is taken for the same one."
        ))
        .hint("If it is another cluster, what is in the old one has to be cleaned up by hand.")
}

/// The error for something that is not in the cluster of the connection.
pub(crate) fn elsewhere(what: &str) -> Diagnostic {
    Diagnostic::error(codes::CLUSTER_CHANGED, "Cluster Changed")
        .detail(format!(
            "{what} is in another cluster than the one the connection leads to now: the uids of their namespaces kube-system \
             differ."
        ))
        .hint(
            "Restore the connection. If it is to be created in the new cluster and left alone in the old one, forget it \
             with `terraform state rm` first.",
        )
}
