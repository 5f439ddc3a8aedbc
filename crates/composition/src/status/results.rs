//! The last results of a pipeline, kept in status because events expire within the hour.

use serde_json::{Value, json};

use crate::pipeline::{Failure, Outcome, StepOutput};
use crate::protocol::{FunctionResult, Severity, Target};

/// How many results a status keeps.
pub(super) const MAX_ENTRIES: usize = 20;
const MAX_BYTES: usize = 1024;

/// The entries of `status.crossplane.pipeline`: at most 20 of at most 1 KiB each, in the order they were returned.
///
/// They hold no time and no counter, so a reconcile with the same results writes the same. When there are too many, the
/// least serious are dropped first, and among those the earliest.
pub(super) fn entries(outcome: &Outcome) -> Vec<Value> {
    let fatal = match &outcome.failure {
        Some(Failure::Fatal { step, result }) => {
            Some(StepOutput { step: step.clone(), output: result.clone() })
        }
        _ => None,
    };
    let results: Vec<&StepOutput<FunctionResult>> = outcome.results.iter().chain(&fatal).collect();
    let mut by_weight: Vec<usize> = (0..results.len()).collect();
    by_weight.sort_by_key(|at| std::cmp::Reverse((weight(results[*at].output.severity), *at)));
    by_weight.truncate(MAX_ENTRIES);
    by_weight.sort_unstable();
    by_weight.into_iter().map(|at| entry(results[at])).collect()
}

fn weight(severity: Severity) -> u8 {
    match severity {
        Severity::Normal => 0,
        Severity::Unspecified | Severity::Warning => 1,
        Severity::Fatal => 2,
    }
}

fn entry(returned: &StepOutput<FunctionResult>) -> Value {
    let StepOutput { step, output: result } = returned;
    let severity = match result.severity {
        Severity::Normal => "Normal",
        Severity::Unspecified | Severity::Warning => "Warning",
        Severity::Fatal => "Fatal",
    };
    let target = match result.target {
        Target::Composite => "Composite",
        Target::CompositeAndClaim => "CompositeAndClaim",
    };
    let with = |message: &str| {
        let mut entry = json!({"step": step, "severity": severity, "target": target, "message": message});
        if let Some(reason) = result.reason.as_deref().filter(|reason| !reason.is_empty()) {
            entry["reason"] = reason.into();
        }
        entry
    };
    let whole = with(&result.message);
    let over = whole.to_string().len().saturating_sub(MAX_BYTES);
    if over == 0 {
        return whole;
    }
    // Escapes make the JSON longer than the text, so cutting as many bytes as it is over always suffices.
    let ellipsis = "…";
    let keep = result.message.len().saturating_sub(over + ellipsis.len());
    let end = (0..=keep).rev().find(|end| result.message.is_char_boundary(*end)).unwrap_or(0);
    with(&format!("{}{ellipsis}", &result.message[..end]))
}
