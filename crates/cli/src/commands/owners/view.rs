//! Renders owners on a terminal: one colour per manager, names in the margin, or letters if there is no room for names.

use std::io;

use anstyle::{AnsiColor, Style};
use fields::FieldPath;
use ownership::{Entry, FieldManager};

use crate::support::managed_object::{Line, managers};
use crate::support::printer::{DIM, Printer, width};

const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Yellow,
    AnsiColor::Magenta,
    AnsiColor::Green,
    AnsiColor::Blue,
    AnsiColor::Red,
];
/// On narrower terminals, the margin shows letters.
const ROOM_FOR_NAMES: usize = 72;
/// The width limit of the names of one field's managers.
const WIDEST_MARGIN: usize = 40;

/// The object and a legend of its managers. A field with several managers is marked with `*`.
pub(super) fn object(printer: &mut Printer, lines: &[Line], entries: &[Entry]) -> io::Result<()> {
    let managers = managers(entries);
    let of = |line: &Line| line.field.as_ref().map_or(&[][..], |(_, holders)| holders).to_vec();
    let named = |holders: &[FieldManager]| {
        holders.iter().map(FieldManager::as_str).collect::<Vec<_>>().join(", ").chars().count()
    };
    let widest = lines.iter().map(|line| named(&of(line))).max().unwrap_or_default();
    let letters = width() < ROOM_FOR_NAMES || widest > WIDEST_MARGIN;
    let label = |manager: &FieldManager| {
        let position = managers.iter().position(|known| known == manager).unwrap_or_default();
        if letters { letter(position) } else { manager.as_str().to_owned() }
    };
    let separator = if letters { "" } else { ", " };
    let plain = |holders: &[FieldManager]| holders.iter().map(label).collect::<Vec<_>>().join(separator);
    let margin = lines.iter().map(|line| plain(&of(line)).chars().count()).max().unwrap_or_default();
    let mut last = Vec::new();
    for line in lines {
        let holders = if line.continues { last.clone() } else { of(line) };
        let painted: Vec<String> = holders
            .iter()
            .map(|manager| {
                let style = colour(&managers, manager);
                format!("{style}{}{style:#}", label(manager))
            })
            .collect();
        let padding = " ".repeat(margin - plain(&holders).chars().count());
        let shared = if holders.len() > 1 { "*" } else { " " };
        let text = format!("{}{padding} {shared} {DIM}│{DIM:#} {}", painted.join(separator), line.text);
        printer.data(text.trim_end())?;
        last = holders;
    }
    legend(printer, &managers, entries, letters);
    Ok(())
}

/// The legend of managers, on standard error.
fn legend(printer: &mut Printer, managers: &[FieldManager], entries: &[Entry], letters: bool) {
    for (position, manager) in managers.iter().enumerate() {
        let style = colour(managers, manager);
        let ways: Vec<String> = entries.iter().filter(|entry| entry.manager == *manager).map(way).collect();
        let letter = if letters { format!("{} = ", letter(position)) } else { String::new() };
        printer.message(format_args!("{style}{letter}{manager}{style:#}: {}", ways.join("; ")));
    }
}

/// How a manager wrote, and how much: `Update of status, 7 fields`.
fn way(entry: &Entry) -> String {
    let fields = entry.fields.clone().leaves().len();
    let part =
        if entry.subresource.is_empty() { String::new() } else { format!(" of {}", entry.subresource) };
    format!("{:?}{part}, {fields} {}", entry.operation, if fields == 1 { "field" } else { "fields" })
}

/// The managers of each field, and since when.
pub(super) fn who(printer: &mut Printer, found: &[(FieldPath, Vec<Entry>)]) -> io::Result<()> {
    let head = ["FIELD", "MANAGER", "OPERATION", "SUBRESOURCE", "SINCE"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (path, entries) in found {
        for entry in entries {
            let since = entry.time.clone().unwrap_or_default();
            let subresource = if entry.subresource.is_empty() { "-" } else { &entry.subresource };
            rows.push(vec![
                path.notation().to_string(),
                entry.manager.to_string(),
                format!("{:?}", entry.operation),
                subresource.to_owned(),
                since,
            ]);
        }
        if entries.is_empty() {
            rows.push(vec![path.notation().to_string(), "(none)".to_owned()]);
        }
    }
    printer.table(&rows)
}

fn colour(managers: &[FieldManager], manager: &FieldManager) -> Style {
    let position = managers.iter().position(|known| known == manager).unwrap_or_default();
    COLOURS[position % COLOURS.len()].on_default()
}

/// A, B … Z, A1, B1 …
fn letter(position: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(position % 26).unwrap_or_default());
    match position / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}
