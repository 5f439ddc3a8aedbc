//! An analysis in words: one warning a row and object, and notes for readers who want to see more.

use std::fmt::Write as _;

use diag::{Code, Diagnostic, Severity};
use fields::jsonpath::go_text;
use serde_json::Value;

use crate::analysis::{Analysis, FieldTransition, ValueChange};
use crate::codes;
use crate::fights::Fights;
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

/// How long a value may be before only its ends are shown, in characters.
const LONGEST_VALUE: usize = 120;

/// What becomes of a conflict with another manager (`conflict_policy`). None of them changes who gets the field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConflictPolicy {
    #[default]
    Warn,
    Fail,
    Ignore,
}

/// How list items are named. Terraform's state names them by position, so the provider's messages do, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListItems {
    #[default]
    ByPosition,
    /// In the notation of [`fields::FieldPath::notation`].
    ByKey,
}

/// What a report depends on, beside the analysis.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reporting<'a> {
    pub verbosity: Verbosity,
    pub policy: ConflictPolicy,
    pub list_items: ListItems,
    /// Whether this is a patch as it was applied last: then every change of its fields is another manager's.
    pub is_unchanged_patch: bool,
    /// Whether nothing is applied although values differ: the plan was made without a refresh.
    pub is_unapplied: bool,
    /// What the last applies took back.
    pub fights: Option<&'a Fights>,
    /// The autoscaler that sets `spec.replicas`.
    pub autoscaler: Option<&'a str>,
}

impl Analysis {
    /// The warnings about the object called `identity` (`Kind ns/name`), in the order drift, taking, overwriting, lost.
    /// Conflicts are errors if the policy says so.
    pub fn warnings(&self, identity: &str, reporting: &Reporting<'_>) -> Vec<Diagnostic> {
        let kinds: &[Warning] = if reporting.is_unchanged_patch { &OF_UNCHANGED_PATCH } else { &WARNINGS };
        let is_reported =
            |warning: &&Warning| reporting.policy != ConflictPolicy::Ignore || !warning.is_conflict();
        let found = kinds
            .iter()
            .filter(is_reported)
            .map(|warning| (warning, self.fields_of(warning.rows, reporting.list_items)));
        let found: Vec<_> = found.filter(|(_, fields)| !fields.is_empty()).collect();
        match reporting.verbosity {
            // A failure needs its reason.
            Verbosity::None if reporting.policy != ConflictPolicy::Fail => Vec::new(),
            Verbosity::Full => found
                .iter()
                .map(|(warning, fields)| warning.diagnostic(identity, fields, self.is_unrecorded, reporting))
                .collect(),
            Verbosity::Minimal | Verbosity::None => {
                summary(identity, &found, self.is_unrecorded, reporting).into_iter().collect()
            }
        }
    }

    /// Sorted by name.
    fn fields_of(&self, rows: &[Row], list_items: ListItems) -> Vec<NamedField<'_>> {
        let name = |field: &FieldTransition| match list_items {
            ListItems::ByPosition => self.print(field),
            ListItems::ByKey => field.path.notation().to_string(),
        };
        let reported =
            self.fields.iter().filter(|field| matches!(field.level(), Level::Warning | Level::NotKept));
        let found = reported.filter(|field| rows.contains(&field.row));
        let mut fields: Vec<_> = found.map(|field| NamedField { name: name(field), field }).collect();
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
        outlook: Some(AGAIN),
        verb: "reverted",
    },
    Warning {
        rows: &[Row::TakeFromActive],
        code: codes::TAKING,
        title: "Ownership Conflict - Taking Field from Active Controller",
        intro: "These fields will be taken from the manager that set them last:",
        outlook: Some("If that manager sets them again, every plan will show a difference."),
        verb: "taken",
    },
    Warning {
        rows: &[Row::OverwriteConcurrent],
        code: codes::OVERWRITING,
        title: "Ownership Conflict - Overwriting Concurrent External Changes",
        intro: "These fields were edited here and changed by another manager at the same time; this configuration wins:",
        outlook: Some(AGAIN),
        verb: "overwritten",
    },
    NOT_KEPT,
];

static OF_UNCHANGED_PATCH: [Warning; 2] = [
    Warning {
        rows: &[Row::RevertDrift, Row::TakeFromActive, Row::OverwriteConcurrent],
        code: codes::FIGHTING,
        title: "Field Ownership Conflict - Controllers Fighting",
        intro: "These fields no longer have the values that this patch set; the apply will set them again:",
        outlook: Some("If the other manager is a controller, both will keep setting them."),
        verb: "set again",
    },
    NOT_KEPT,
];

const NOT_KEPT: Warning = Warning {
    rows: &[Row::GainedUnasked, Row::GainedWhileChanged, Row::LostUnasked, Row::LostWhileChanged],
    code: codes::NOT_KEPT,
    title: "Field Not Kept by the API Server",
    intro: "These fields gain or lose their manager without a reason in this configuration. An admission webhook, a conversion or the API server itself drops or adds them:",
    outlook: None,
    verb: "not kept",
};

const AGAIN: &str = "If the other manager keeps changing them, every plan will show this again.";

impl Warning {
    fn is_conflict(&self) -> bool {
        self.outlook.is_some()
    }

    fn diagnostic(
        &self,
        identity: &str,
        fields: &[NamedField<'_>],
        is_unrecorded: bool,
        reporting: &Reporting<'_>,
    ) -> Diagnostic {
        let mut detail = format!("{}\n", self.intro(fields, is_unrecorded, reporting));
        for field in fields.iter().take(MOST_FIELDS) {
            let _infallible = write!(detail, "\n  {}", self.line(field));
        }
        if let Some(more) = fields.len().checked_sub(MOST_FIELDS).filter(|more| *more > 0) {
            let _infallible = write!(detail, "\n  … and {more} more");
        }
        let summary = format!("{} ({identity})", self.title(fields, is_unrecorded, reporting));
        let warning = Diagnostic::new(severity(self.is_conflict(), reporting), self.code, summary);
        let warning = warning.object(identity);
        let Some(outlook) = self.outlook(fields, reporting) else { return warning.detail(detail) };
        let fights = reporting.fights.into_iter().flat_map(|fights| {
            fields.iter().filter_map(|NamedField { name, field }| fights.report(name, field))
        });
        let fights: Vec<String> = fights.take(MOST_FIELDS).collect();
        if !fights.is_empty() {
            let _infallible = write!(detail, "\n\n{}", fights.join("\n"));
        }
        let is_scaled = fields.iter().any(|field| field.name == "spec.replicas");
        if let Some(autoscaler) = reporting.autoscaler.filter(|_| is_scaled) {
            let _infallible = write!(detail, "\n\n{autoscaler} sets spec.replicas of this object.");
        }
        let _infallible = write!(detail, "\n\n{outlook}");
        if warning.is_error() {
            detail.push_str(
                "\n\nThis is an error because of conflict_policy = \"fail\". `terraform destroy` is not affected.",
            );
        }
        warning.detail(detail).hint(ignore_hint(fields))
    }

    fn title(
        &self,
        fields: &[NamedField<'_>],
        is_unrecorded: bool,
        reporting: &Reporting<'_>,
    ) -> &'static str {
        match self.rows {
            [Row::TakeFromActive] if is_unrecorded && !is_active(fields, reporting) => {
                "Fields Set by Another Manager"
            }
            _ => self.title,
        }
    }

    fn intro(
        &self,
        fields: &[NamedField<'_>],
        is_unrecorded: bool,
        reporting: &Reporting<'_>,
    ) -> &'static str {
        match self.rows {
            _ if reporting.is_unapplied && self.is_conflict() => {
                "These fields were changed outside of this configuration:"
            }
            [Row::TakeFromActive] if is_active(fields, reporting) => {
                "These fields will be taken from a manager that is changing them:"
            }
            [Row::TakeFromActive] if is_unrecorded => {
                "Another manager has set these fields, and they will be set to what is written here:"
            }
            _ => self.intro,
        }
    }

    fn outlook(&self, fields: &[NamedField<'_>], reporting: &Reporting<'_>) -> Option<&'static str> {
        let outlook = self.outlook?;
        Some(match self.rows {
            _ if reporting.is_unapplied => {
                "This plan leaves them as they are, because the state was not refreshed. Plan without -refresh=false to set them."
            }
            [Row::TakeFromActive] if is_active(fields, reporting) => {
                "If that manager stays active, both will keep setting them, and every plan will show a difference."
            }
            _ => outlook,
        })
    }

    fn line(&self, NamedField { name, field }: &NamedField<'_>) -> String {
        match field.change.as_ref().filter(|_| self.is_conflict()) {
            None => format!("{name} ({})", field.row),
            Some(change) if change.masked => format!("{name}: the value differs ({})", modifiers(field)),
            Some(ValueChange { before: Some(before), live, planned, .. })
                if field.row == Row::OverwriteConcurrent =>
            {
                let planned = value(planned.as_ref());
                format!(
                    "{name}: {} → {planned} ({}; external wanted: {}, you specified: {planned})",
                    value(Some(before)),
                    modifiers(field),
                    value(live.as_ref())
                )
            }
            Some(ValueChange { live, planned, .. }) => {
                let set_at = field.set_at.as_ref().filter(|_| field.row == Row::TakeFromActive);
                let set_at = set_at.map_or_else(String::new, |time| format!(", last set {time}"));
                format!(
                    "{name}: {} → {} ({}{set_at})",
                    value(live.as_ref()),
                    value(planned.as_ref()),
                    modifiers(field)
                )
            }
        }
    }
}

/// Whether a controller holds one of the fields, or a manager that has set it again since it was taken back.
fn is_active(fields: &[NamedField<'_>], reporting: &Reporting<'_>) -> bool {
    let has_returned = |NamedField { name, field }: &NamedField<'_>| {
        reporting.fights.is_some_and(|fights| fights.has_taken_back(name, field))
    };
    let is_controlled = |field: &FieldTransition| field.others.iter().any(FieldManager::is_controller);
    fields.iter().any(|named| is_controlled(named.field) || has_returned(named))
}

fn severity(is_conflict: bool, reporting: &Reporting<'_>) -> Severity {
    let fails = reporting.policy == ConflictPolicy::Fail && is_conflict && !reporting.is_unapplied;
    if fails { Severity::Error } else { Severity::Warning }
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
fn summary(
    identity: &str,
    found: &[(&Warning, Vec<NamedField<'_>>)],
    is_unrecorded: bool,
    reporting: &Reporting<'_>,
) -> Option<Diagnostic> {
    let (first, fields) = found.first()?;
    let counts = found.iter().map(|(warning, fields)| {
        let noun = if fields.len() == 1 { "field" } else { "fields" };
        format!("{} {noun} {}", fields.len(), warning.verb)
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let severity = severity(found.iter().any(|(warning, _)| warning.is_conflict()), reporting);
    let title = first.title(fields, is_unrecorded, reporting);
    let warning = Diagnostic::new(severity, first.code, format!("{title} ({identity}): {counts}"));
    // A line per object is all that was asked for.
    Some(Diagnostic { help: None, ..warning.object(identity) })
}

/// Strings quoted, a missing value as `(none)`, everything else as Go's `%v` prints it. A long one is cut in the middle.
fn value(value: Option<&Value>) -> String {
    let (text, length) = match value {
        None => return "(none)".to_owned(),
        Some(Value::String(text)) => (format!("{text:?}"), text.chars().count()),
        Some(other) => {
            let text = go_text(other);
            let length = text.chars().count();
            (text, length)
        }
    };
    if length <= LONGEST_VALUE {
        return text;
    }
    let letters: Vec<char> = text.chars().collect();
    let (start, end) = (&letters[..LONGEST_VALUE * 2 / 3], &letters[letters.len() - LONGEST_VALUE / 3..]);
    let text = |part: &[char]| part.iter().collect::<String>();
    format!("{}…{} ({length} characters)", text(start), text(end))
}

#[cfg(test)]
mod tests;
