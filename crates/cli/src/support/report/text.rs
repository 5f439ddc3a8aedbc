//! Renders a plan: one object after the other with its fields, old → new, and their managers.

use std::fmt::Write as _;
use std::io;

use anstyle::Style;
use cluster::Propagation;
use fields::FieldPath;
use ownership::{FieldManager, Level};
use plan::{FieldChange, Preview};

use super::change_text::{ChangeText, Line};
use super::composites::{Composites, is_of_engine};
use super::findings::findings;
use super::{Action, ObjectReport, ObjectState, Report, names};
use super::{diff, markdown, set};
use crate::args::Format;
use crate::support::applyset::SetPlan;
use crate::support::batch::replacement::Replacement;
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer, object_name, width};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tense {
    Plan,
    Applied,
    Drift,
}

/// How many fields without a change of value are named before they are only counted.
const MOST_NAMED: usize = 3;

/// What is said of an object that the user may not read.
pub(super) const HIDDEN: &str = "you may not read it, so what would happen to it is not shown";

const BOLD: Style = Style::new().bold();

/// The whole report in the format of `-o`, findings on standard error.
pub(crate) fn report(printer: &mut Printer, report: &Report, tense: Tense, full: bool) -> io::Result<()> {
    let show = |printer: &mut Printer| match printer.format() {
        Format::Diff => printer.raw(diff::diff(report).as_bytes()),
        Format::Markdown => printer.raw(markdown::markdown(report, tense, full).as_bytes()),
        _ => listing(printer, report, tense, full),
    };
    match tense {
        Tense::Applied => printer.outcome(report, object_names(report, tense), show)?,
        Tense::Plan | Tense::Drift => printer.output(report, object_names(report, tense), show)?,
    }
    for finding in findings(report) {
        printer.diagnostic(&finding);
    }
    let summary = summary(report, tense);
    if !summary.is_empty() {
        printer.message(summary);
    }
    Ok(())
}

/// The names for `-o name`: as with kubectl, an apply prints all objects that it leaves as the files want them, and then what it has
/// deleted. A plan prints what would change.
pub(super) fn object_names(report: &Report, tense: Tense) -> impl Iterator<Item = String> {
    let is_named = move |object: &&ObjectReport| match object.action() {
        Action::Refused => false,
        Action::Nothing => tense == Tense::Applied,
        _ => true,
    };
    let objects = report.objects.iter().filter(is_named).map(|object| &object.target);
    let deleted = report.set.iter().flat_map(SetPlan::deletes).map(|prune| &prune.target);
    let composites = report.composites.iter().flat_map(Composites::names);
    objects.chain(deleted).map(object_name).chain(composites)
}

fn listing(printer: &mut Printer, report: &Report, tense: Tense, full: bool) -> io::Result<()> {
    if let Some(summary) = report.composites.as_ref().and_then(Composites::summary) {
        printer.data(format_args!("{BOLD}{summary}{BOLD:#}"))?;
    }
    if let Some(set) = &report.set {
        set::show(printer, set, tense)?;
    }
    report.objects.iter().try_for_each(|it| object(printer, it, full, Indent::Top))?;
    report.composites.as_ref().map_or(Ok(()), |composites| composites.show(printer, full))
}

/// How far an object is from the margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Indent {
    Top,
    /// Below its XR.
    Composed,
}

impl Indent {
    const fn text(self) -> &'static str {
        match self {
            Self::Top => "",
            Self::Composed => "    ",
        }
    }
}

/// Renders one object; nothing if it does not change.
pub(super) fn object(
    printer: &mut Printer,
    report: &ObjectReport,
    full: bool,
    indent: Indent,
) -> io::Result<()> {
    let style = match report.action() {
        Action::Nothing => return Ok(()),
        Action::Create | Action::Pending => GOOD,
        Action::Change | Action::Addition | Action::Going => PENDING,
        Action::Hold | Action::Hidden => DIM,
        Action::Replace | Action::Refused | Action::Delete => BAD,
    };
    let (sign, margin) = (report.action().sign(), indent.text());
    printer.data(format_args!("{margin}{style}{sign} {}{style:#}", report.target))?;
    match &report.state {
        ObjectState::Known(preview) => fields(printer, preview, full, indent)?,
        ObjectState::Replaced(replacement) => replaced(printer, replacement, full, indent)?,
        ObjectState::Pending(pending) => printer.data(format_args!("{margin}    {}", pending.reason()))?,
        ObjectState::Deleted { finalizers } if !finalizers.is_empty() => {
            let finalizers = finalizers.join(", ");
            printer.data(format_args!("{margin}    {DIM}held by finalizers: {finalizers}{DIM:#}"))?;
        }
        ObjectState::Hidden => printer.data(format_args!("{margin}    {DIM}{HIDDEN}{DIM:#}"))?,
        ObjectState::Deleted { .. } | ObjectState::Refused => {}
    }
    report.additions.iter().try_for_each(|addition| {
        let text = ChangeText::of(&FieldChange { old: None, ..addition.clone() }, full);
        let held = format!("not in the files, held by {}", managers(&addition.held_now));
        change(printer, &text, &held, indent)
    })
}

fn fields(printer: &mut Printer, preview: &Preview, full: bool, indent: Indent) -> io::Result<()> {
    for field in said(preview, indent == Indent::Composed) {
        let held = if preview.created { String::new() } else { holding(field) };
        change(printer, &ChangeText::of(field, full), &held, indent)?;
    }
    let margin = indent.text();
    if let Some(former) = &preview.taken_over_from {
        printer.data(format_args!("{margin}    takes over what {} applied", managers(former)))?;
    }
    for (verb, fields) in [("takes", &preview.takes), ("releases", &preview.releases)] {
        if !fields.is_empty() {
            printer.data(format_args!("{margin}    {verb} {}", some(&names(fields))))?;
        }
    }
    Ok(())
}

/// The changes that are shown. That a new object is a member of its set, or has what the engine gives all that it composes, goes
/// without saying.
pub(super) fn said(preview: &Preview, is_composed: bool) -> impl Iterator<Item = &FieldChange> {
    let label = FieldPath::of_fields(["metadata", "labels", plan::applyset::PART_OF]);
    let is_plain = move |path: &FieldPath| if is_composed { is_of_engine(path) } else { *path == label };
    preview.changes.iter().filter(move |field| !preview.created || !is_plain(&field.path))
}

fn replaced(printer: &mut Printer, replacement: &Replacement, full: bool, indent: Indent) -> io::Result<()> {
    for field in &replacement.changes {
        change(printer, &ChangeText::of(field, full), &replacement.remark(field), indent)?;
    }
    printer.data(format_args!("{}    {}", indent.text(), how_replaced(replacement)))
}

pub(super) fn how_replaced(replacement: &Replacement) -> &'static str {
    match replacement.cascade {
        Propagation::Background => "is deleted and created again; what it owns is deleted",
        Propagation::Foreground => "is deleted after what it owns, and created again",
        Propagation::Orphan => "is deleted and created again; what it owns stays",
    }
}

/// One field, and what is to be said about its managers.
fn change(printer: &mut Printer, text: &ChangeText, held: &str, indent: Indent) -> io::Result<()> {
    let margin = indent.text();
    let both = margin.len() + text.head.chars().count() + held.chars().count() + 4 + 3;
    if held.is_empty() {
        printer.data(format_args!("{margin}    {}", text.head))?;
    } else if both <= width() {
        printer.data(format_args!("{margin}    {}   {DIM}{held}{DIM:#}", text.head))?;
    } else {
        printer.data(format_args!("{margin}    {}\n{margin}      {DIM}{held}{DIM:#}", text.head))?;
    }
    text.lines.iter().try_for_each(|line| {
        let style = match line {
            Line::Same(_) => Style::new(),
            Line::Removed(_) => BAD,
            Line::Added(_) => GOOD,
            Line::Folded(_) => DIM,
        };
        printer.data(format_args!("{margin}      {style}{}{style:#}", line.plain()))
    })
}

pub(super) fn managers(managers: &[FieldManager]) -> String {
    match managers {
        [] => "no manager".to_owned(),
        _ => managers.iter().map(FieldManager::as_str).collect::<Vec<_>>().join(", "),
    }
}

/// The managers of a field, before and after, and anything unusual about them.
pub(super) fn holding(change: &FieldChange) -> String {
    if change.is_allocated {
        return String::new();
    }
    let mut text = match (&change.held_now[..], &change.held_after[..]) {
        // A field that goes is held by no manager afterwards.
        (now @ [_, ..], []) if change.new.is_none() => format!("held by {}", managers(now)),
        ([], []) => "set by the API server".to_owned(),
        ([], after) => format!("held by {}", managers(after)),
        (now, after) if now == after => format!("held by {}", managers(now)),
        (now, after) => format!("held by {}, then by {}", managers(now), managers(after)),
    };
    if let Some(row) = change.row.filter(|row| matches!(row.level(), Level::Warning | Level::NotKept)) {
        let _infallible = write!(text, " ({row})");
    }
    text
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
pub(super) fn summary(report: &Report, tense: Tense) -> String {
    let words: [(Action, &str, Style); 9] = [
        (Action::Create, ["to create", "created", "missing"][tense as usize], GOOD),
        (Action::Pending, ["to create later", "waited for", "missing"][tense as usize], GOOD),
        (Action::Change, ["to change", "changed", "different"][tense as usize], PENDING),
        (Action::Replace, ["to replace", "replaced", "different"][tense as usize], BAD),
        (Action::Addition, "with additions", PENDING),
        (Action::Hold, ["to hold", "held", "held by others"][tense as usize], DIM),
        (Action::Going, "being deleted", PENDING),
        (Action::Refused, "refused", BAD),
        (Action::Nothing, ["unchanged", "unchanged", "in sync"][tense as usize], DIM),
    ];
    let mut parts = Vec::new();
    let deletes = report.set.as_ref().map_or(0, |set| set.deletes().count());
    if deletes > 0 {
        let word = ["to delete", "deleted", "no longer in the files"][tense as usize];
        parts.push(format!("{BAD}{deletes} {word}{BAD:#}"));
    }
    let not_deleted = report.set.as_ref().map_or(0, SetPlan::not_deleted);
    if not_deleted > 0 {
        parts.push(format!("{BAD}{not_deleted} not deleted{BAD:#}"));
    }
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
