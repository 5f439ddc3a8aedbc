//! Diagnostics as Events: the code becomes the reason.

use diag::{Diagnostic, Severity};
use k8s_openapi::api::core::v1::ObjectReference;

use crate::runtime::events::{EventType, Recorder};

pub(super) fn record(recorder: &Recorder, regarding: &ObjectReference, diagnostic: &Diagnostic) {
    let (kind, reason, message) = event(diagnostic);
    recorder.record(regarding.clone(), kind, &reason, &message);
}

/// The type, reason and message of an Event.
pub(super) fn event(diagnostic: &Diagnostic) -> (EventType, String, String) {
    let is_note = diagnostic.severity == Severity::Note;
    let kind = if is_note { EventType::Normal } else { EventType::Warning };
    (kind, reason(diagnostic), message(diagnostic))
}

/// The code in PascalCase: `operation-deadline-exceeded` is `DeadlineExceeded`.
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
mod tests;
