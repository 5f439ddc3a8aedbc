//! Refreshes: which cluster to read from, and what to keep if nothing can be read.

use std::sync::Arc;

use cluster::{Class, Error};
use diag::Diagnostic;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{ReadRequest, ReadResponse};
use tfplugin::value::Object;

use crate::clusters::Cluster;
use crate::connection::Configured;
use crate::context::{self, Context};
use crate::{cluster_identity, codes};

/// The cluster to compare a state with; otherwise the diagnostics to report, which are empty while the connection is
/// still unknown. `title` is the title of the error about an unusable connection.
pub(crate) fn cluster(context: &Context, state: &Object, title: &str) -> Result<Arc<Cluster>, Diagnostics> {
    match context.cluster(state.get("cluster")) {
        Ok(Configured::Known(cluster)) => Ok(cluster),
        Err(error) if context.is_unreported(state.get("cluster")) => {
            Err(context::unusable(&error, title).into())
        }
        Ok(Configured::Absent | Configured::Unknown) | Err(_) => Err(Diagnostics::new()),
    }
}

/// Leaves the state unchanged.
pub(crate) fn unchanged(request: ReadRequest, diagnostics: impl Into<Diagnostics>) -> ReadResponse {
    ReadResponse { diagnostics: diagnostics.into(), ..request.unchanged() }
}

/// Handles an object that does not exist. That counts only in the cluster of the last apply: a provider that points to
/// another one would otherwise plan to create everything again. `what` names the object.
pub(crate) async fn absent(request: ReadRequest, cluster: &Cluster, what: &str) -> ReadResponse {
    if cluster_identity::differs(&request.private, cluster).await {
        return unchanged(request, cluster_identity::in_another_cluster(what));
    }
    ReadResponse::default()
}

/// The warning that the prior state is used, if the failure must not stop a plan, which may bring the remedy: other
/// credentials, or a version of the kind that is served. An object outlives the version it was written with.
pub(crate) fn prior_state_used(error: &Error) -> Option<Diagnostic> {
    let stale = |title: &str, reads: &str, hint: &str| {
        let detail = error.diagnostic("Read").detail;
        Diagnostic::warning(codes::STALE_READ, format!("Read: Using Prior State — {title}"))
            .detail(format!("{detail}\n\nThe refresh keeps the state as it was. {reads}"))
            .hint(hint)
    };
    if let Some(served) = error.served_instead() {
        let reads = format!("The object may still exist: the cluster serves it as {}.", served.api_version());
        let hint = format!("Write `apiVersion: {}`.", served.api_version());
        return Some(stale("Version Not Served", &reads, &hint));
    }
    matches!(error.class(), Class::AuthenticationFailed | Class::InsufficientPermissions).then(|| {
        stale(
            "Authentication Failed",
            "The plan reads the cluster with the configured credentials.",
            "Renew the credentials; an apply with new ones stores them.",
        )
    })
}
