//! Kinds and namespaces that the same apply may still create. What needs one of them waits for it instead of failing.

use std::time::Duration;

use cluster::{Error, ErrorKind};
use tfplugin::diagnostics::Diagnostics;

use crate::report;

/// How long an apply waits for them, and for a target that comes with them.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Whether another resource of this run may still create what the call lacks.
pub(crate) fn may_still_come(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::KindMissing(missing) => plan::may_still_come(&missing.gvk),
        kind => matches!(kind, ErrorKind::NamespaceMissing { .. }),
    }
}

/// What a failed call means for a plan: an error, or a result that is known only after the apply.
pub(crate) fn unknown_in_plan(error: &Error, operation: &str) -> Result<Diagnostics, Diagnostics> {
    match error.kind() {
        _ if may_still_come(error) => Ok(Diagnostics::new()),
        ErrorKind::Unreachable(_) => Err(error.diagnostic(operation).into()),
        _ if error.is_server_fault() => Ok(report::no_preview(error.diagnostic(operation)).into()),
        _ => Err(error.diagnostic(operation).into()),
    }
}
