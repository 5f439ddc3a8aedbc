//! Renders a recording for people: what was observed, what each function changed and said, what was written, and how long each took.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use anstyle::Style;
use fields::Schema;
use manifest::ObjectRef;
use operator::composition::recording::{
    Call, Condition, Finding, Piece, Recording, StepRecord, Writing, WritingKind,
};
use plan::FieldChange;
use serde_json::Value;

use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer};
use crate::support::report::change_text::{ChangeText, Line};

const BOLD: Style = Style::new().bold();

/// How many pieces were left out for their size.
pub(super) fn trimmed(recording: &Recording) -> Option<String> {
    let (pieces, bytes) = recording.trimmed;
    let values = if pieces == 1 { "value was" } else { "values were" };
    (pieces > 0).then(|| format!("{pieces} {values} too large to be recorded, {} kB in all", bytes / 1000))
}

pub(super) fn show(
    printer: &mut Printer,
    xr: &ObjectRef,
    recording: &Recording,
    full: bool,
) -> io::Result<()> {
    let revision = match recording.revision.as_str() {
        "" => String::new(),
        revision => format!(", {revision}"),
    };
    printer.data(format_args!("{BOLD}{xr}{BOLD:#}{revision}   {}", time(recording.milliseconds)))?;
    let phases = recording.phases.iter().map(|phase| format!("{} {}", phase.name, time(phase.milliseconds)));
    let phases: Vec<String> = phases.collect();
    printer.data(format_args!("{DIM}{}{DIM:#}", phases.join(", ")))?;
    if let Some(failure) = &recording.failure {
        printer.data(format_args!("{BAD}failed{BAD:#}: {failure}"))?;
    }
    observed(printer, recording, full)?;
    let mut desired = &BTreeMap::new();
    for (number, step) in recording.steps.iter().enumerate() {
        self::step(printer, number + 1, step, desired, full)?;
        if let Some(returned) = step.calls.last().and_then(|call| call.returned.as_ref()) {
            desired = &returned.resources;
        }
    }
    if !recording.writes.is_empty() {
        heading(printer, "written")?;
        recording.writes.iter().try_for_each(|writing| self::writing(printer, writing))?;
    }
    if !recording.events.is_empty() {
        heading(printer, "events")?;
        recording.events.iter().try_for_each(|event| finding(printer, event))?;
    }
    if !recording.conditions.is_empty() {
        heading(printer, "conditions")?;
    }
    recording.conditions.iter().try_for_each(|condition| {
        let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
        line_of_condition(printer, &text("type"), &text("status"), &text("reason"), &text("message"), false)
    })
}

fn heading(printer: &mut Printer, text: &str) -> io::Result<()> {
    printer.data(format_args!("\n{BOLD}{text}{BOLD:#}"))
}

fn observed(printer: &mut Printer, recording: &Recording, full: bool) -> io::Result<()> {
    heading(printer, "observed")?;
    if recording.observed.is_empty() && recording.missing.is_empty() {
        printer.data("  no composed resources")?;
    }
    for (key, piece) in &recording.observed {
        printer.data(format_args!("  {key}   {}", described(piece)))?;
        if full {
            yaml(printer, piece, 6)?;
        }
    }
    for named in &recording.missing {
        printer.data(format_args!("  {PENDING}{} {} does not exist{PENDING:#}", named.kind, named.name))?;
    }
    match (&recording.composite, full) {
        (Some(composite), true) => {
            printer.data("  the XR")?;
            yaml(printer, composite, 6)
        }
        _ => Ok(()),
    }
}

/// One step: what it was given beside what all are given, and what it changed.
fn step(
    printer: &mut Printer,
    number: usize,
    step: &StepRecord,
    before: &BTreeMap<String, Piece>,
    full: bool,
) -> io::Result<()> {
    let took = step.calls.iter().map(|call| call.milliseconds).sum();
    let calls = match step.calls.len() {
        0 | 1 => String::new(),
        calls => format!(", {calls} calls"),
    };
    printer.data(format_args!(
        "\n{BOLD}{number} {}{BOLD:#}   {}   {}{calls}",
        step.step,
        step.function,
        time(took)
    ))?;
    given(printer, step, full)?;
    if let Some(error) = &step.error {
        return printer.data(format_args!("  {BAD}no response{BAD:#}: {error}"));
    }
    let Some(returned) = step.calls.last().and_then(|call| call.returned.as_ref()) else { return Ok(()) };
    changes(printer, before, &returned.resources, full)?;
    if let Some(composite) = &returned.composite {
        let status = composite.value.as_ref().and_then(|value| value.get("status"));
        match (status, full) {
            (Some(_), true) => {
                printer.data("  the XR's status")?;
                yaml(printer, composite, 6)?;
            }
            (Some(_), false) => printer.data("  sets the XR's status")?,
            (None, _) => {}
        }
    }
    returned.results.iter().try_for_each(|result| finding(printer, result))?;
    for Condition { kind, status, reason, message, for_claim } in &returned.conditions {
        let message = message.as_deref().unwrap_or_default();
        line_of_condition(printer, kind, status, reason, message, *for_claim)?;
    }
    if let Some(context) = &returned.context {
        self::context(printer, "sets", context, full)?;
    }
    match returned.ttl_seconds {
        Some(seconds) if seconds > 0.0 => printer.data(format_args!("  {DIM}valid for {seconds} s{DIM:#}")),
        _ => Ok(()),
    }
}

fn given(printer: &mut Printer, step: &StepRecord, full: bool) -> io::Result<()> {
    if let Some(input) = &step.input {
        printer.data(format_args!("  given input   {}", described(input)))?;
        if full {
            yaml(printer, input, 6)?;
        }
    }
    for (name, credential) in &step.credentials {
        let entries = credential.entries.join(", ");
        let secret = &credential.secret;
        let place = secret.namespace.as_deref().unwrap_or_default();
        printer
            .data(format_args!("  given credentials {name}   Secret {place}/{}: {entries}", secret.name))?;
    }
    let Some(Call { context, required, schemas, .. }) = step.calls.last() else { return Ok(()) };
    if let Some(context) = context {
        self::context(printer, "given", context, full)?;
    }
    for (name, found) in required {
        let shown: Vec<String> = found.iter().map(described).collect();
        let shown = if shown.is_empty() { "nothing matches".to_owned() } else { shown.join(", ") };
        printer.data(format_args!("  required {name}   {shown}"))?;
        if full {
            found.iter().try_for_each(|piece| yaml(printer, piece, 6))?;
        }
    }
    for name in schemas {
        printer.data(format_args!("  required {name}   a schema"))?;
    }
    Ok(())
}

/// The keys of a context, or why they are not shown.
fn context(printer: &mut Printer, verb: &str, context: &Piece, full: bool) -> io::Result<()> {
    let keys = context.value.as_ref().and_then(Value::as_object);
    let keys = keys.map(|keys| keys.keys().cloned().collect::<Vec<_>>().join(", "));
    printer.data(format_args!("  {verb} context   {}", keys.unwrap_or_else(|| described(context))))?;
    if full { yaml(printer, context, 6) } else { Ok(()) }
}

/// What a step changed in what is desired.
fn changes(
    printer: &mut Printer,
    before: &BTreeMap<String, Piece>,
    after: &BTreeMap<String, Piece>,
    full: bool,
) -> io::Result<()> {
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for key in keys {
        match (before.get(key), after.get(key)) {
            (None, Some(new)) => {
                printer.data(format_args!("  {GOOD}+ {key}{GOOD:#}   {}{}", described(new), ready(new)))?;
                if full {
                    yaml(printer, new, 6)?;
                }
            }
            (Some(old), None) => printer.data(format_args!("  {BAD}- {key}{BAD:#}   {}", described(old)))?,
            (Some(old), Some(new)) => changed(printer, key, old, new, full)?,
            (None, None) => {}
        }
    }
    Ok(())
}

fn changed(printer: &mut Printer, key: &str, old: &Piece, new: &Piece, full: bool) -> io::Result<()> {
    let empty = Value::Null;
    let (from, to) = (old.value.as_ref().unwrap_or(&empty), new.value.as_ref().unwrap_or(&empty));
    let differences = fields::diff(from, to, &Schema::of(to));
    if differences.is_empty() && old.ready == new.ready {
        return Ok(());
    }
    let marked = if old.ready == new.ready { String::new() } else { ready(new) };
    printer.data(format_args!("  {PENDING}~ {key}{PENDING:#}   {}{marked}", described(new)))?;
    for change in differences {
        let change =
            FieldChange { path: change.path, old: change.old, new: change.new, ..FieldChange::default() };
        let text = ChangeText::of(&change, full);
        printer.data(format_args!("      {}", text.head))?;
        text.lines
            .iter()
            .map(Line::plain)
            .try_for_each(|line| printer.data(format_args!("        {line}")))?;
    }
    Ok(())
}

fn ready(piece: &Piece) -> String {
    match piece.ready {
        Some(true) => "   ready".to_owned(),
        Some(false) => "   not ready".to_owned(),
        None => String::new(),
    }
}

/// What a piece is, in a few words.
fn described(piece: &Piece) -> String {
    let name = piece.object.as_ref().map(|named| {
        let name = named.namespace.iter().chain(Some(&named.name)).filter(|part| !part.is_empty());
        let name = name.cloned().collect::<Vec<_>>().join("/");
        format!("{} {name}", named.kind).trim_end().to_owned()
    });
    let why = match (&piece.hidden, piece.trimmed) {
        (Some(why), _) => Some(format!("(not shown: {why})")),
        (None, Some(bytes)) => Some(format!("({bytes} bytes, not recorded)")),
        (None, None) => None,
    };
    let details = match piece.connection_details.as_slice() {
        [] => None,
        names => Some(format!("(connection details: {})", names.join(", "))),
    };
    let kind = || {
        let text = piece.value.as_ref()?.get("kind")?.as_str()?;
        Some(text.to_owned())
    };
    let parts: Vec<String> = [name.or_else(kind), why, details].into_iter().flatten().collect();
    parts.join(" ")
}

fn yaml(printer: &mut Printer, piece: &Piece, indent: usize) -> io::Result<()> {
    let Some(value) = &piece.value else { return Ok(()) };
    let margin = " ".repeat(indent);
    manifest::to_yaml(value).lines().try_for_each(|line| printer.data(format_args!("{margin}{line}")))
}

fn writing(printer: &mut Printer, writing: &Writing) -> io::Result<()> {
    let (word, style) = match writing.outcome {
        WritingKind::Unchanged => ("unchanged", DIM),
        WritingKind::Applied => ("applied", GOOD),
        WritingKind::Deleted => ("deleted", BAD),
        WritingKind::Refused => ("refused", BAD),
    };
    let named = &writing.object;
    let place = named.namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
    let why = writing.error.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    printer.data(format_args!(
        "  {style}{word}{style:#}   {} {place}{}   {}{why}",
        named.kind,
        named.name,
        time(writing.milliseconds)
    ))
}

fn finding(printer: &mut Printer, finding: &Finding) -> io::Result<()> {
    let style = match finding.severity.as_str() {
        "Fatal" => BAD,
        "Warning" => PENDING,
        _ => DIM,
    };
    let Finding { severity, reason, message, for_claim } = finding;
    let reason = if reason.is_empty() { String::new() } else { format!(" {reason}") };
    let claim = if *for_claim { ", also for the claim" } else { "" };
    printer.data(format_args!("  {style}{severity}{style:#}{reason}{claim}: {message}"))
}

fn line_of_condition(
    printer: &mut Printer,
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
    for_claim: bool,
) -> io::Result<()> {
    let claim = if for_claim { ", also for the claim" } else { "" };
    let message = if message.is_empty() { String::new() } else { format!(": {message}") };
    printer.data(format_args!("  {kind}={status} {reason}{claim}{message}"))
}

/// `3.2 ms`, `1.4 s`
fn time(milliseconds: f64) -> String {
    if milliseconds >= 1000.0 {
        format!("{:.1} s", milliseconds / 1000.0)
    } else {
        format!("{milliseconds:.1} ms")
    }
}
