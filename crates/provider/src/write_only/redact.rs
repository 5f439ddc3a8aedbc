//! Removes write-only values from messages: an API server may quote what it rejects.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use diag::Diagnostic;
use ownership::Observed;
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;

use super::MARK;

/// Shorter texts are removed only where they are quoted: they occur in words by chance.
const SHORT: usize = 4;

/// The texts that no message about a change may show: the configured values, and those that the live object has in their
/// place. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct HiddenTexts(Arc<Mutex<BTreeSet<String>>>);

impl HiddenTexts {
    /// Hides the values that `live` has where `marks` has a mark. While their version stays, they are sent again.
    pub(crate) fn add_live(&self, live: &Observed, marks: Option<&Json>) {
        let Some(marks) = marks else { return };
        self.add(&plan::values_at(live.object(), marks, live.schema().root()), marks);
    }

    /// Hides `values` where `marks` has a mark.
    pub(super) fn add(&self, values: &Json, marks: &Json) {
        collect(values, marks, &mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The diagnostics without the hidden texts.
    pub(crate) fn redact(&self, diagnostics: Diagnostics) -> Diagnostics {
        let texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if texts.is_empty() || diagnostics.is_empty() {
            return diagnostics;
        }
        let forms: BTreeSet<String> = texts.iter().flat_map(|text| forms(text)).collect();
        // The longest first: one may be part of another.
        let mut forms: Vec<String> = forms.into_iter().collect();
        forms.sort_by_key(|form| Reverse(form.len()));
        let mut redacted = Diagnostics::new();
        for (path, mut diagnostic) in diagnostics {
            let Diagnostic { summary, detail, hint, help, .. } = &mut diagnostic;
            for text in [Some(summary), Some(detail), hint.as_mut(), help.as_mut()].into_iter().flatten() {
                *text = forms.iter().fold(text.clone(), |text, form| text.replace(form.as_str(), MARK));
            }
            match path {
                Some(path) => redacted.add_at(path, diagnostic),
                None => redacted.add(diagnostic),
            }
        }
        redacted
    }
}

/// How a text may look in a message: as it is, quoted, in JSON as Go writes it, and in such JSON that is quoted once more.
fn forms(text: &str) -> Vec<String> {
    let quoted = |text: &str| without_quotes(&format!("{text:?}"));
    let json = |text: &str| without_quotes(&manifest::to_json(&text.into()));
    let (once, twice) = ([quoted(text), json(text)], quoted(&json(text)));
    if text.len() < SHORT {
        let once = once.iter().map(|form| format!("\"{form}\""));
        return once.chain([format!("\\\"{twice}\\\"")]).collect();
    }
    once.into_iter().chain([text.to_owned(), twice]).collect()
}

fn without_quotes(quoted: &str) -> String {
    quoted[1..quoted.len() - 1].to_owned()
}

/// The texts of `values` where `marks` has a mark; those of Secrets in both forms.
fn collect(values: &Json, marks: &Json, texts: &mut BTreeSet<String>) {
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
            let plain = BASE64_STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            texts.extend(plain.filter(|plain| !plain.is_empty()));
            texts.insert(text.clone());
        }
        (Json::Number(number), mark) if *mark == MARK => {
            texts.insert(number.to_string());
        }
        _ => {}
    }
}
