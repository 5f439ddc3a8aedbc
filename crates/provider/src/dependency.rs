//! What the same apply may still bring: kinds, namespaces and webhooks. What needs one of them waits instead of failing.

use std::time::Duration;

use cluster::{Dependency, Error, ErrorKind};
use tfplugin::diagnostics::Diagnostics;

use crate::report;

/// How long an apply waits for them, and for a target that comes with them.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What a failed call means for a plan: an error, or a result that is known only after the apply.
pub(crate) fn unknown_in_plan(error: &Error, operation: &str) -> Result<Diagnostics, Diagnostics> {
    match (error.dependency(), error.kind()) {
        (Some(Dependency::Kind(_) | Dependency::Namespace(_)), _) => Ok(Diagnostics::new()),
        (_, ErrorKind::Unreachable(_)) => Err(error.diagnostic(operation).into()),
        _ if error.is_server_fault() => Ok(report::no_preview(error.diagnostic(operation)).into()),
        _ => Err(error.diagnostic(operation).into()),
    }
}
