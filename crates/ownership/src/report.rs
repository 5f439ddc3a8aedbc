//! An analysis in words: one warning a row and object, and notes for readers who want to see more.

use std::fmt::Write as _;

use diag::{Code, Diagnostic};
use fields::jsonpath::go_text;
use serde_json::Value;

use crate::analysis::{Analysis, FieldTransition, ValueChange};
use crate::codes;
use crate::manager::FieldManager;
use crate::row::{Level, Row};

/// How much to report about ownership (`managed_fields_verbosity`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Every field, with its values and managers.
    #[default]
    Full,
    /// One line an object.
    Minimal,
    None,
}

/// How many fields a message lists before it only counts them.
const MOST_FIELDS: usize = 10;

impl Analysis {
    /// The warnings about the object called `identity` (`Kind ns/name`), in the order drift, taking, overwriting, lost.
    pub fn warnings(&self, identity: &str, verbosity: Verbosity) -> Vec<Diagnostic> {
        let found = WARNINGS.iter().map(|warning| (warning, self.fields_of(warning.rows)));
        let found: Vec<_> = found.filter(|(_, fields)| !fields.is_empty()).collect();
        match verbosity {
            Verbosity::None => Vec::new(),
            Verbosity::Full => {
                found.iter().map(|(warning, fields)| warning.diagnostic(identity, fields)).collect()
            }
            Verbosity::Minimal => summary(identity, &found).into_iter().collect(),
        }
    }

    /// Sorted by name.
    fn fields_of(&self, rows: &[Row]) -> Vec<NamedField<'_>> {
        let reported =
            self.fields.iter().filter(|field| matches!(field.level(), Level::Warning | Level::NotKept));
        let found = reported.filter(|field| rows.contains(&field.row));
        let mut fields: Vec<_> = found.map(|field| NamedField { name: self.print(field), field }).collect();
        fields.sort_by(|left, right| left.name.cmp(&right.name));
        fields
    }
}

struct NamedField<'a> {
    name: String,
    field: &'a FieldTransition,
}

/// A warning: the rows it is about, and its words.
struct Warning {
    rows: &'static [Row],
    code: Code,
    title: &'static str,
    intro: &'static str,
    /// What happens if the other manager goes on; none where there is no other manager.
    outlook: Option<&'static str>,
    /// What happens to a field, in a summary.
    verb: &'static str,
}

/// In the order in which they are shown.
static WARNINGS: [Warning; 4] = [
    Warning {
        rows: &[Row::RevertDrift],
        code: codes::DRIFT,
        title: "Drift Detected - Reverting External Changes",
        intro: "These fields were changed outside of this configuration and will be set back to it:",
        outlook: Some("If the other manager keeps changing them, every plan will show this again."),
        verb: "reverted",
    },
    Warning {
        rows: &[Row::TakeFromActive],
        code: codes::TAKING,
        title: "Ownership Conflict - Taking Field from Active Controller",
        intro: "These fields will be taken from a manager that is changing them:",
        outlook: Some(
            "If that manager stays active, both will keep setting them, and every plan will show a difference.",
        ),
        verb: "taken",
    },
    Warning {
        rows: &[Row::OverwriteConcurrent],
        code: codes::OVERWRITING,
        title: "Ownership Conflict - Overwriting Concurrent External Changes",
        intro: "These fields were edited here and changed by another manager at the same time; this configuration wins:",
        outlook: Some("If the other manager keeps changing them, every plan will show this again."),
        verb: "overwritten",
    },
    Warning {
        rows: &[Row::GainedUnasked, Row::GainedWhileChanged, Row::LostUnasked, Row::LostWhileChanged],
        code: codes::NOT_KEPT,
        title: "Field Not Kept by the API Server",
        intro: "These fields gain or lose their manager without a reason in this configuration. An admission webhook, a conversion or the API server itself drops or adds them:",
        outlook: None,
        verb: "not kept",
    },
];

impl Warning {
    fn diagnostic(&self, identity: &str, fields: &[NamedField<'_>]) -> Diagnostic {
        let mut detail = format!("{}\n", self.intro);
        for field in fields.iter().take(MOST_FIELDS) {
            let _infallible = write!(detail, "\n  {}", self.line(field));
        }
        if let Some(more) = fields.len().checked_sub(MOST_FIELDS).filter(|more| *more > 0) {
            let _infallible = write!(detail, "\n  … and {more} more");
        }
        let summary = format!("{} ({identity})", self.title);
        let warning = Diagnostic::warning(self.code, summary).object(identity);
        match self.outlook {
            Some(outlook) => warning.detail(format!("{detail}\n\n{outlook}")).hint(ignore_hint(fields)),
            None => warning.detail(detail),
        }
    }

    fn line(&self, NamedField { name, field }: &NamedField<'_>) -> String {
        match field.change.as_ref().filter(|_| self.outlook.is_some()) {
            None => format!("{name} ({})", field.row),
            Some(change) if change.masked => format!("{name}: the value differs ({})", modifiers(field)),
            Some(ValueChange { live, planned, .. }) => format!(
                "{name}: {} → {} ({})",
                value(live.as_ref()),
                value(planned.as_ref()),
                modifiers(field)
            ),
        }
    }
}

fn modifiers(field: &FieldTransition) -> String {
    if field.others.is_empty() {
        // managedFields do not record who removed a field or wrote it under our name.
        return "modified by: unknown".to_owned();
    }
    let names: Vec<&str> = field.others.iter().map(FieldManager::as_str).collect();
    format!("modified by: {}", names.join(", "))
}

fn ignore_hint(fields: &[NamedField<'_>]) -> String {
    let listed = fields.iter().take(MOST_FIELDS).map(|field| format!("{:?}", field.name));
    format!("To leave them to the other manager: ignore_fields = [{}]", listed.collect::<Vec<_>>().join(", "))
}

/// All findings in one line.
fn summary(identity: &str, found: &[(&Warning, Vec<NamedField<'_>>)]) -> Option<Diagnostic> {
    let (first, _) = found.first()?;
    let counts = found.iter().map(|(warning, fields)| {
        let noun = if fields.len() == 1 { "field" } else { "fields" };
        format!("{} {noun} {}", fields.len(), warning.verb)
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let warning = Diagnostic::warning(first.code, format!("{} ({identity}): {counts}", first.title));
    // A line per object is all that was asked for.
    Some(Diagnostic { help: None, ..warning.object(identity) })
}

/// Strings quoted, a missing value as `(none)`, everything else as Go's `%v` prints it.
fn value(value: Option<&Value>) -> String {
    match value {
        None => "(none)".to_owned(),
        Some(Value::String(text)) => format!("{text:?}"),
        Some(other) => go_text(other),
    }
}

#[cfg(test)]
mod tests;
