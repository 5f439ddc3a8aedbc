//! Durations in configurations, such as `timeout`, written as Go writes them.

use manifest::GoDuration;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::value::Value;

use crate::codes;

/// As in the Go provider, zero and negative durations are accepted.
pub(crate) fn check(value: &Value, path: &Path) -> Diagnostics {
    match value.as_str().map(str::parse::<GoDuration>) {
        Some(Err(error)) => diag::Diagnostic::error(codes::INVALID_DURATION, "Invalid Duration")
            .detail(format!("{path} is not a duration: {error}."))
            .hint("Write it like \"30s\", \"5m\" or \"1h30m\".")
            .into(),
        _ => Diagnostics::new(),
    }
}
