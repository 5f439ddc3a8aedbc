//! Refreshes: which cluster to read from, and what to keep if nothing can be read.

use std::sync::Arc;

use cluster::{Class, Error};
use diag::Diagnostic;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{ReadRequest, ReadResponse};
use tfplugin::value::Object;

use crate::clusters::Cluster;
use crate::codes;
use crate::context::{self, Context, Reach};

/// The cluster to compare a state with; otherwise the diagnostics to report, which are empty while the connection is
/// still unknown. `title` is the title of the error about an unusable connection.
pub(crate) fn cluster(context: &Context, state: &Object, title: &str) -> Result<Arc<Cluster>, Diagnostics> {
    match context.reach(state.get("cluster")) {
        Ok(Reach::Ready(cluster)) => Ok(cluster),
        Ok(Reach::NotYet | Reach::Nowhere) => Err(Diagnostics::new()),
        Err(error) => Err(context::unprepared(&error, title).into()),
    }
}

/// Leaves the state unchanged.
pub(crate) fn kept(request: ReadRequest, told: impl Into<Diagnostics>) -> ReadResponse {
    ReadResponse { diagnostics: told.into(), ..request.unchanged() }
}

/// Whether the credentials were rejected. That must not stop a read: the plan may bring new ones.
pub(crate) fn is_refusal(error: &Error) -> bool {
    matches!(error.class(), Class::AuthenticationFailed | Class::InsufficientPermissions)
}

/// The warning that credentials were rejected, with the server's message, and that the prior state is used.
pub(crate) fn prior_state_used(told: &Diagnostic) -> Diagnostic {
    Diagnostic::warning(codes::STALE_READ, "Read: Using Prior State — Authentication Failed")
        .detail(format!(
            "{}\n\nThe state is used as it was; the plan compares with the cluster if its credentials are better.",
            told.detail
        ))
        .hint("Renew the credentials; an apply with new ones stores them.")
}
