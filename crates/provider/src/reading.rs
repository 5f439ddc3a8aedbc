//! Refreshing: where to look, and what is kept when nothing can be seen.

use std::sync::Arc;

use cluster::{Class, Error};
use diag::Diagnostic;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{ReadRequest, ReadResponse};
use tfplugin::value::Object;

use crate::clusters::Cluster;
use crate::codes;
use crate::context::{self, Context, Reach};

/// The cluster that a state is to be compared with; otherwise what to tell, which is nothing where nothing can be asked
/// yet: nothing follows from that. `title` is that of the error about a connection that is none.
pub(crate) fn cluster(context: &Context, state: &Object, title: &str) -> Result<Arc<Cluster>, Diagnostics> {
    match context.reach(state.get("cluster")) {
        Ok(Reach::Ready(cluster)) => Ok(cluster),
        Ok(Reach::NotYet | Reach::Nowhere) => Err(Diagnostics::new()),
        Err(error) => Err(context::unprepared(&error, title).into()),
    }
}

/// The state stays as it was.
pub(crate) fn kept(request: ReadRequest, told: impl Into<Diagnostics>) -> ReadResponse {
    ReadResponse { diagnostics: told.into(), ..request.unchanged() }
}

/// Whether the credentials are not good enough. That is no reason to stop a read: the plan may come with new ones.
pub(crate) fn is_refusal(error: &Error) -> bool {
    matches!(error.class(), Class::AuthenticationFailed | Class::InsufficientPermissions)
}

/// The warning that credentials were refused, `told` by the server, and that the state is used as it was.
pub(crate) fn prior_state_used(told: &Diagnostic) -> Diagnostic {
    Diagnostic::warning(codes::STALE_READ, "Read: Using Prior State — Authentication Failed")
        .detail(format!(
            "{}\n\nThe state is used as it was; the plan compares with the cluster if its credentials are better.",
            told.detail
        ))
        .hint("Renew the credentials; an apply with new ones stores them.")
}
