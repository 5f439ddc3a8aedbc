//! Findings as Events: the reason is the name of the finding, the message what a person needs.

use diag::{Diagnostic, Severity};
use k8s_openapi::api::core::v1::ObjectReference;

use crate::events::{Recorder, Tone};

/// Tells those who look at an object.
pub(super) fn tell(recorder: &Recorder, regarding: &ObjectReference, diagnostic: &Diagnostic) {
    let tone = if diagnostic.severity == Severity::Note { Tone::Normal } else { Tone::Warning };
    recorder.record(regarding.clone(), tone, &reason(diagnostic), &message(diagnostic));
}

/// The code in the way that reasons are written: `operation-deadline-exceeded` is `DeadlineExceeded`.
fn reason(diagnostic: &Diagnostic) -> String {
    let code = diagnostic.code.to_string();
    let words = code.strip_prefix("operation-").unwrap_or(&code).split('-');
    words.fold(String::new(), |reason, word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).fold(reason, |mut reason, letter| {
            reason.push(letter);
            reason
        })
    })
}

fn message(diagnostic: &Diagnostic) -> String {
    let mut message = diagnostic.summary.clone();
    let further = [Some(diagnostic.detail.as_str()), diagnostic.hint.as_deref()];
    let further: Vec<&str> = further.into_iter().flatten().filter(|text| !text.is_empty()).collect();
    if !further.is_empty() {
        message = format!("{message}. {}", further.join(" "));
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use operations::codes;

    #[test]
    fn a_finding_reads_well_as_an_event() {
        let check = |diagnostic: Diagnostic, expected: (&str, &str)| {
            assert_eq!((reason(&diagnostic).as_str(), message(&diagnostic).as_str()), expected);
        };
        check(
            Diagnostic::note(codes::OPERATION_STARTED, "Queue create is in flight"),
            ("Started", "Queue create is in flight"),
        );
        check(
            Diagnostic::warning(codes::DEADLINE_EXCEEDED, "late").detail("Why.").hint("Do this."),
            ("DeadlineExceeded", "late. Why. Do this."),
        );
    }
}
