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
        let kinds = [Kind::Drift, Kind::Taking, Kind::Overwriting, Kind::NotKept];
        let found = kinds.map(|kind| (kind, self.fields_of(kind)));
        match verbosity {
            Verbosity::None => Vec::new(),
            Verbosity::Full => {
                let found = found.into_iter().filter(|(_, fields)| !fields.is_empty());
                found.map(|(kind, fields)| kind.warning(identity, &fields)).collect()
            }
            Verbosity::Minimal => summary(identity, &found).into_iter().collect(),
        }
    }

    /// Sorted by name.
    fn fields_of(&self, kind: Kind) -> Vec<NamedField<'_>> {
        let reported =
            self.fields.iter().filter(|field| matches!(field.level(), Level::Warning | Level::NotKept));
        let found = reported.filter(|field| kind.is_of(field.row));
        let mut fields: Vec<_> = found.map(|field| NamedField { name: self.print(field), field }).collect();
        fields.sort_by(|left, right| left.name.cmp(&right.name));
        fields
    }
}

struct NamedField<'a> {
    name: String,
    field: &'a FieldTransition,
}

/// The kinds of warning: three about active managers, and one about what cannot have been our doing.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Drift,
    Taking,
    Overwriting,
    NotKept,
}

impl Kind {
    fn is_of(self, row: Row) -> bool {
        match self {
            Self::Drift => row == Row::RevertDrift,
            Self::Taking => row == Row::TakeFromActive,
            Self::Overwriting => row == Row::OverwriteConcurrent,
            Self::NotKept => row.level() == Level::NotKept,
        }
    }

    fn code(self) -> Code {
        match self {
            Self::Drift => codes::DRIFT,
            Self::Taking => codes::TAKING,
            Self::Overwriting => codes::OVERWRITING,
            Self::NotKept => codes::NOT_KEPT,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Drift => "Drift Detected - Reverting External Changes",
            Self::Taking => "Ownership Conflict - Taking Field from Active Controller",
            Self::Overwriting => "Ownership Conflict - Overwriting Concurrent External Changes",
            Self::NotKept => "Field Not Kept by the API Server",
        }
    }

    fn warning(self, identity: &str, fields: &[NamedField<'_>]) -> Diagnostic {
        let intro = match self {
            Self::Drift => {
                "These fields were changed outside of this configuration and will be set back to it:"
            }
            Self::Taking => "These fields will be taken from a manager that is changing them:",
            Self::Overwriting => {
                "These fields were edited here and changed by another manager at the same time; this configuration wins:"
            }
            Self::NotKept => {
                "These fields gain or lose their manager without a reason in this configuration. An admission webhook, a conversion or the API server itself drops or adds them:"
            }
        };
        let mut detail = format!("{intro}\n");
        for field in fields.iter().take(MOST_FIELDS) {
            let _infallible = write!(detail, "\n  {}", self.line(field));
        }
        if let Some(more) = fields.len().checked_sub(MOST_FIELDS).filter(|more| *more > 0) {
            let _infallible = write!(detail, "\n  … and {more} more");
        }
        match self {
            Self::Drift | Self::Overwriting => detail.push_str(
                "\n\nIf the other manager keeps changing them, every plan will show this again.",
            ),
            Self::Taking => detail.push_str(
                "\n\nIf that manager stays active, both will keep setting them, and every plan will show a difference.",
            ),
            Self::NotKept => {}
        }
        let warning = Diagnostic::warning(self.code(), format!("{} ({identity})", self.title()))
            .detail(detail)
            .object(identity);
        match self {
            Self::NotKept => warning,
            _ => warning.hint(ignore_hint(fields)),
        }
    }

    fn line(self, NamedField { name, field }: &NamedField<'_>) -> String {
        match (self, &field.change) {
            (Self::NotKept, _) | (_, None) => format!("{name} ({})", field.row),
            (_, Some(change)) if change.masked => {
                format!("{name}: the value differs ({})", modifiers(field))
            }
            (_, Some(ValueChange { live, planned, .. })) => format!(
                "{name}: {} → {} ({})",
                value(live.as_ref()),
                value(planned.as_ref()),
                modifiers(field)
            ),
        }
    }

    /// What happens to a field, as one word.
    fn verb(self) -> &'static str {
        match self {
            Self::Drift => "reverted",
            Self::Taking => "taken",
            Self::Overwriting => "overwritten",
            Self::NotKept => "not kept",
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
fn summary(identity: &str, found: &[(Kind, Vec<NamedField<'_>>); 4]) -> Option<Diagnostic> {
    let (kind, _) = found.iter().find(|(_, fields)| !fields.is_empty())?;
    let counts = found.iter().filter(|(_, fields)| !fields.is_empty()).map(|(kind, fields)| {
        let noun = if fields.len() == 1 { "field" } else { "fields" };
        format!("{} {noun} {}", fields.len(), kind.verb())
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let warning = Diagnostic::warning(kind.code(), format!("{} ({identity}): {counts}", kind.title()));
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
