//! Renders a plan: one object after the other with its fields, old → new, and their managers.

use std::fmt::Write as _;
use std::io;

use anstyle::Style;
use ownership::{FieldManager, Level};
use plan::{FieldChange, Preview};
use serde_json::Value;

use super::findings::findings;
use super::{Action, ObjectReport, ObjectState, Report};
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer, object_name, width};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tense {
    Plan,
    Applied,
    Drift,
}

/// Longer values are cut; `-o json` has them in full.
const LONGEST_VALUE: usize = 60;
/// How many fields without a change of value are named before they are only counted.
const MOST_NAMED: usize = 3;

/// The whole report in the format of `-o`, findings on standard error.
pub(crate) fn report(printer: &mut Printer, report: &Report, tense: Tense) -> io::Result<()> {
    let touched = report.objects.iter().filter(|object| object.action() != Action::Nothing);
    printer.output(&report.to_json(), touched.map(|it| object_name(&it.target)), |printer| {
        report.objects.iter().try_for_each(|it| object(printer, it))
    })?;
    for finding in findings(report) {
        printer.diagnostic(&finding);
    }
    let summary = summary(report, tense);
    if !summary.is_empty() {
        printer.message(summary);
    }
    Ok(())
}

/// Renders one object; nothing if it does not change.
fn object(printer: &mut Printer, report: &ObjectReport) -> io::Result<()> {
    let (style, sign) = match report.action() {
        Action::Nothing => return Ok(()),
        Action::Create => (GOOD, "+"),
        Action::Change => (PENDING, "~"),
        Action::Hold => (DIM, "="),
        Action::Pending => (GOOD, "?"),
        Action::Refused => (BAD, "!"),
    };
    printer.data(format_args!("{style}{sign} {}{style:#}", report.target))?;
    match &report.state {
        ObjectState::Known(preview) => fields(printer, preview),
        ObjectState::Pending(pending) => printer.data(format_args!("    {}", pending.reason())),
        ObjectState::Refused => Ok(()),
    }
}

fn fields(printer: &mut Printer, preview: &Preview) -> io::Result<()> {
    for change in &preview.changes {
        let text = plain_change(change);
        let held = if preview.created { String::new() } else { holding(change) };
        let both = text.chars().count() + held.chars().count() + 4 + 3;
        if held.is_empty() {
            printer.data(format_args!("    {text}"))?;
        } else if both <= width() {
            printer.data(format_args!("    {text}   {DIM}{held}{DIM:#}"))?;
        } else {
            printer.data(format_args!("    {text}\n      {DIM}{held}{DIM:#}"))?;
        }
    }
    for (verb, fields) in [("takes", &preview.takes), ("releases", &preview.releases)] {
        if !fields.is_empty() {
            printer.data(format_args!("    {verb} {}", some(fields)))?;
        }
    }
    Ok(())
}

/// A change without colour: `spec.replicas: 5 → 3`.
pub(crate) fn plain_change(change: &FieldChange) -> String {
    let FieldChange { field, old, new, .. } = change;
    match (old, new) {
        (None, Some(new)) => format!("{field} = {}", shown(new)),
        (Some(old), None) => format!("{field}: {} → (none)", shown(old)),
        (Some(old), Some(new)) => {
            let (old, new) = (plain(old), plain(new));
            let same = common(&old, &new);
            format!("{field}: {} → {}", excerpt(&old, same), excerpt(&new, same))
        }
        (None, None) => field.clone(),
    }
}

/// The managers of a field, before and after, and anything unusual about them.
fn holding(change: &FieldChange) -> String {
    let names = |managers: &[FieldManager]| match managers {
        [] => "no manager".to_owned(),
        _ => managers.iter().map(FieldManager::as_str).collect::<Vec<_>>().join(", "),
    };
    let mut text = match (&change.held_now[..], &change.held_after[..]) {
        ([], after) => format!("held by {}", names(after)),
        (now, after) if now == after => format!("held by {}", names(now)),
        (now, after) => format!("held by {}, then by {}", names(now), names(after)),
    };
    if let Some(row) = change.row.filter(|row| matches!(row.level(), Level::Warning | Level::NotKept)) {
        let _infallible = write!(text, " ({row})");
    }
    text
}

fn shown(value: &Value) -> String {
    excerpt(&plain(value), 0)
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        other => manifest::to_json(other),
    }
}

/// The number of leading characters that both texts share.
fn common(old: &str, new: &str) -> usize {
    old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count()
}

/// A text, shortened if it is too long so that the difference, which begins after `same` characters, is visible.
fn excerpt(text: &str, same: usize) -> String {
    let length = text.chars().count();
    if length <= LONGEST_VALUE {
        return text.to_owned();
    }
    // Some context before the difference shows where it is.
    let start = if same + LONGEST_VALUE / 2 < LONGEST_VALUE { 0 } else { same - LONGEST_VALUE / 2 };
    let start = start.min(length - LONGEST_VALUE);
    let (before, after) =
        (if start > 0 { "…" } else { "" }, if start + LONGEST_VALUE < length { "…" } else { "" });
    let shown: String = text.chars().skip(start).take(LONGEST_VALUE).collect();
    format!("{before}{shown}{after}")
}

/// The first of them, and the number of the others.
pub(crate) fn some(fields: &[String]) -> String {
    let named = fields.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    match fields.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// `1 problem`, `3 problems`
pub(crate) fn problems(count: usize) -> String {
    format!("{count} {}", if count == 1 { "problem" } else { "problems" })
}

/// `1 to create, 2 to change, 3 unchanged`
fn summary(report: &Report, tense: Tense) -> String {
    let words: [(Action, &str, Style); 6] = [
        (Action::Create, ["to create", "created", "missing"][tense as usize], GOOD),
        (Action::Pending, ["to create later", "waited for", "missing"][tense as usize], GOOD),
        (Action::Change, ["to change", "changed", "different"][tense as usize], PENDING),
        (Action::Hold, ["to hold", "held", "held by others"][tense as usize], DIM),
        (Action::Refused, "refused", BAD),
        (Action::Nothing, ["unchanged", "unchanged", "in sync"][tense as usize], DIM),
    ];
    let mut parts = Vec::new();
    for (not_asked, mark) in [(false, ""), (true, " (not asked)")] {
        for (action, words, style) in words {
            let count = report.count(action, not_asked);
            if count > 0 {
                parts.push(format!("{style}{count} {words}{mark}{style:#}"));
            }
        }
    }
    if !report.problems.is_empty() {
        parts.push(format!("{BAD}{}{BAD:#}", problems(report.problems.len())));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_around_the_difference() {
        let check = |old: &str, new: &str, expected: &str| {
            let (old, new) = (Some(Value::from(old)), Some(Value::from(new)));
            let (held_now, held_after) = (Vec::new(), Vec::new());
            let change = FieldChange { field: "f".to_owned(), old, new, held_now, held_after, row: None };
            assert_eq!(plain_change(&change), expected);
        };
        check("a", "b", r#"f: "a" → "b""#);
        let long = "x".repeat(60);
        check(&format!("a{long}"), &format!("b{long}"), &format!(r#"f: "a{0}… → "b{0}…"#, "x".repeat(58)));
        let tail = "x".repeat(30);
        check(
            &format!("{long}one{long}"),
            &format!("{long}two{long}"),
            &format!("f: …{tail}one{}… → …{tail}two{}…", "x".repeat(27), "x".repeat(27)),
        );
        check(&format!("{long}1"), &format!("{long}2"), &format!(r#"f: …{0}1" → …{0}2""#, "x".repeat(58)));
    }
}
