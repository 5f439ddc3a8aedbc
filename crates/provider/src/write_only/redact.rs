//! Removes write-only values from messages: an API server may quote what it rejects.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use diag::Diagnostic;
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;

use super::{MARK, WriteOnly};

/// Shorter texts are removed only where they are quoted: they occur in words by chance.
const SHORT: usize = 4;

/// The diagnostics without the values of a write-only part.
pub(crate) fn redact(diagnostics: Diagnostics, write_only: Option<&WriteOnly>) -> Diagnostics {
    let Some(write_only) = write_only else { return diagnostics };
    let mut texts = write_only.texts();
    // The longest first: one may be part of another.
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let mut redacted = Diagnostics::new();
    for (path, mut diagnostic) in diagnostics {
        let Diagnostic { summary, detail, hint, help, .. } = &mut diagnostic;
        for text in [Some(summary), Some(detail), hint.as_mut(), help.as_mut()].into_iter().flatten() {
            *text = without(text, &texts);
        }
        match path {
            Some(path) => redacted.add_at(path, diagnostic),
            None => redacted.add(diagnostic),
        }
    }
    redacted
}

fn without(message: &str, texts: &[String]) -> String {
    texts.iter().fold(message.to_owned(), |message, text| {
        if text.len() < SHORT {
            return message.replace(&format!("{text:?}"), MARK);
        }
        // As it is, and as it looks quoted.
        let quoted = format!("{text:?}");
        message.replace(text.as_str(), MARK).replace(&quoted[1..quoted.len() - 1], MARK)
    })
}

/// The texts of `values` where `marks` has a mark; those of Secrets in both forms.
pub(super) fn collect(values: &Json, marks: &Json, texts: &mut Vec<String>) {
    match (values, marks) {
        (Json::Object(values), Json::Object(marks)) => {
            for (name, value) in values {
                collect(value, &marks[name], texts);
            }
        }
        (Json::Array(values), Json::Array(marks)) => {
            values.iter().zip(marks).for_each(|(value, mark)| collect(value, mark, texts));
        }
        (Json::Object(values), _) => values.values().for_each(|value| collect(value, marks, texts)),
        (Json::Array(values), _) => values.iter().for_each(|value| collect(value, marks, texts)),
        (Json::String(text), mark) if *mark == MARK && !text.is_empty() => {
            if let Some(plain) =
                BASE64_STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok())
            {
                texts.push(plain);
            }
            texts.push(text.clone());
        }
        (Json::Number(number), mark) if *mark == MARK => texts.push(number.to_string()),
        _ => {}
    }
}
