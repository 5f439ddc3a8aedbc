//! Identifies the cluster of a resource by the uid of its namespace kube-system, which does not depend on the
//! connection.

use std::sync::Arc;

use diag::Diagnostic;
use tfplugin::private::Private;
use tfplugin::value::{Object, Value};

use crate::clusters::Cluster;
use crate::codes;
use crate::connection::Configured;
use crate::context::Context;
use crate::planned_change::PlannedChange;
use crate::private::CLUSTER_UID;

/// The parts of a connection that locate the cluster; the others authenticate.
const ENDPOINT: [&str; 4] = ["host", "kubeconfig", "context", "proxy_url"];

/// Whether the stored uid belongs to another cluster than `cluster`.
pub(crate) async fn differs(private: &Private, cluster: &Cluster) -> bool {
    match private.get_as::<String>(CLUSTER_UID) {
        None => false,
        Some(stored) => cluster.uid().await.ok().flatten().is_some_and(|uid| uid != stored),
    }
}

/// Whether `cluster` is proven to be the stored one.
pub(crate) async fn is_proven(private: &Private, cluster: &Cluster) -> bool {
    let stored: Option<String> = private.get_as(CLUSTER_UID);
    stored.is_some() && cluster.uid().await.ok().flatten() == stored.as_deref()
}

/// Stores the uid of the cluster. If it cannot be read now, the old value stays.
pub(crate) async fn store(private: &mut Private, cluster: &Cluster) {
    if let Ok(uid) = cluster.uid().await {
        private.set_optional(CLUSTER_UID, uid.as_ref());
    }
}

/// Whether a changed connection leads to another cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterChange {
    /// The same cluster, or the same connection.
    None,
    Another,
    /// Neither cluster's uid proves it.
    Unproven,
}

/// Whether the planned connection, to `now`, leads to another cluster than the one in the state.
pub(crate) async fn change(context: &Context, change: &PlannedChange, now: &Cluster) -> ClusterChange {
    let Some(prior) = &change.prior else { return ClusterChange::None };
    let (before, after) = (prior.get("cluster"), change.planned.get("cluster"));
    let part = |connection: &Value, name| connection.as_object().map(|object| object.get(name).clone());
    if before == after || ENDPOINT.iter().all(|name| part(before, name) == part(after, name)) {
        return ClusterChange::None;
    }
    let former = match change.private.get_as(CLUSTER_UID) {
        Some(uid) => Some(uid),
        // A state of the Go provider does not store the uid; the cluster itself may reveal it.
        None => match context.cluster(before) {
            Ok(Configured::Known(cluster)) => cluster.uid().await.ok().flatten().map(str::to_owned),
            _ => None,
        },
    };
    match (former, now.uid().await.ok().flatten()) {
        (Some(former), Some(now)) if former == now => ClusterChange::None,
        (Some(_), Some(_)) => ClusterChange::Another,
        _ => ClusterChange::Unproven,
    }
}

/// The provider's own cluster, for a state whose credentials no longer work: a destroy has no configuration to take new
/// ones from. The caller must prove that it is the same cluster.
pub(crate) fn provider_cluster(context: &Context, prior: &Object) -> Option<Arc<Cluster>> {
    match context.cluster(&Value::Null) {
        Ok(Configured::Known(cluster)) if !prior.get("cluster").is_null() => Some(cluster),
        _ => None,
    }
}

/// The warning about a replacement; `what` says what happens in the old cluster and in the new one.
pub(crate) fn replacement(what: &str) -> Diagnostic {
    Diagnostic::warning(codes::CLUSTER_CHANGED, "Cluster Changed - Replacement Required")
        .detail(format!("The connection leads to another cluster. {what}"))
        .hint("Restore the connection to keep the resource in the old cluster.")
}

/// The warning that the cluster cannot be verified; `what` is assumed to be in it.
pub(crate) fn unproven(what: &str) -> Diagnostic {
    Diagnostic::warning(codes::CLUSTER_UNPROVEN, "Cluster May Have Changed")
        .detail(format!(
            "The connection changed, and whether it leads to the same cluster could not be verified: the uid of the \
             namespace kube-system cannot be read. {what} is assumed to be in this cluster."
        ))
        .hint("If it is another cluster, clean up what is in the old one by hand.")
}

/// The error for something that is not in the cluster of the connection.
pub(crate) fn in_another_cluster(what: &str) -> Diagnostic {
    Diagnostic::error(codes::CLUSTER_CHANGED, "Cluster Changed")
        .detail(format!(
            "{what} is in another cluster than the one that the connection leads to now: the uids of their namespaces \
             kube-system differ."
        ))
        .hint(
            "Restore the connection. To create it in the new cluster and leave it alone in the old one, remove it from \
             the state with `terraform state rm` first.",
        )
}
