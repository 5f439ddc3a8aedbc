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
        Ok(Configured::Absent | Configured::Unknown) => Err(Diagnostics::new()),
        Err(error) => Err(context::unusable(&error, title).into()),
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

/// Whether the credentials were rejected. That must not stop a read: the plan may bring new ones.
pub(crate) fn is_rejection(error: &Error) -> bool {
    matches!(error.class(), Class::AuthenticationFailed | Class::InsufficientPermissions)
}

/// The warning that credentials were rejected, with the server's message, and that the prior state is used.
pub(crate) fn prior_state_used(rejection: &Diagnostic) -> Diagnostic {
    Diagnostic::warning(codes::STALE_READ, "Read: Using Prior State — Authentication Failed")
        .detail(format!(
            "{}\n\nThe refresh keeps the state as it was. The plan reads the cluster with the configured credentials.",
            rejection.detail
        ))
        .hint("Renew the credentials; an apply with new ones stores them.")
}
