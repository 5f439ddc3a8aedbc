//! The only writer to standard output and standard error.
//!
//! Data goes to standard output, everything else to standard error, so a pipe carries nothing but data. Colour is
//! always written, and anstream strips it where it is not wanted.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use diag::Diagnostic;
use diag::terminal::Renderer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use manifest::ObjectRef;
use serde::Serialize;
use terminal_size::{Width, terminal_size_of};

use crate::args::{Format, Global};
use crate::codes;
use crate::support::exit::{Exit, Failure};

pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const PENDING: Style = AnsiColor::Yellow.on_default();
/// Paths, commands and other text to type.
pub(crate) const LITERAL: Style = AnsiColor::Cyan.on_default();
/// Text that may be skipped.
pub(crate) const DIM: Style = Style::new().dimmed();

/// The refresh interval of spinners.
const TICK: Duration = Duration::from_millis(100);

/// The width without a terminal.
const DEFAULT_WIDTH: usize = 100;

/// Writes the output of a command.
pub(crate) struct Printer {
    stdout: AutoStream<io::Stdout>,
    stderr: AutoStream<io::Stderr>,
    format: Format,
    quiet: bool,
}

impl Printer {
    pub(crate) fn new(global: &Global) -> Self {
        let choice = match global.color {
            clap::ColorChoice::Auto => ColorChoice::Auto,
            clap::ColorChoice::Always => ColorChoice::Always,
            clap::ColorChoice::Never => ColorChoice::Never,
        };
        Self {
            stdout: AutoStream::new(io::stdout(), choice),
            stderr: AutoStream::new(io::stderr(), choice),
            format: global.output,
            quiet: global.quiet,
        }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Rejects machine-readable formats for a command that has none; `why` gives the reason.
    pub(crate) fn only_text(&self, why: &str) -> Result<(), Failure> {
        if self.format == Format::Text {
            return Ok(());
        }
        Err(Diagnostic::error(codes::FORMAT_UNSUPPORTED, format!("{why}, so there is no data for programs"))
            .hint("Omit --output.")
            .into())
    }

    /// Rejects the formats of plans for a command that makes none.
    pub(crate) fn refuse_reports(&self) -> Result<(), Failure> {
        if !matches!(self.format, Format::Diff | Format::Markdown) {
            return Ok(());
        }
        Err(Diagnostic::error(
            codes::FORMAT_UNSUPPORTED,
            "only plan, apply and drift have this output format",
        )
        .hint("Omit --output, or use text, json, yaml or name.")
        .into())
    }

    /// Data, for a person or a program.
    pub(crate) fn data(&mut self, text: impl fmt::Display) -> io::Result<()> {
        writeln!(self.stdout, "{text}")
    }

    /// Data that is passed on unchanged.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdout.write_all(bytes)?;
        self.stdout.flush()
    }

    /// Binary data, bypassing the colour filter.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdout.flush()?;
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    /// Data for a program: YAML if requested, JSON otherwise.
    pub(crate) fn structured(&mut self, value: &impl Serialize) -> io::Result<()> {
        if self.format == Format::Yaml {
            let value = serde_json::to_value(value).map_err(io::Error::from)?;
            return self.raw(manifest::to_yaml(&value).as_bytes());
        }
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        self.data(text)
    }

    /// The result of a command in the requested format: `data` for programs, `names`, or `text` for people.
    pub(crate) fn output(
        &mut self,
        data: &impl Serialize,
        names: impl IntoIterator<Item = impl fmt::Display>,
        text: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        match self.format {
            Format::Json | Format::Yaml => self.structured(data),
            Format::Name => names.into_iter().try_for_each(|name| self.data(name)),
            // Of a report; `Printer::refuse_reports` has refused them for other commands.
            Format::Text | Format::Diff | Format::Markdown => text(self),
        }
    }

    /// The same for a command that changes something: to a person who asks for quiet, success needs no words.
    pub(crate) fn outcome(
        &mut self,
        data: &impl Serialize,
        names: impl IntoIterator<Item = impl fmt::Display>,
        text: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.quiet && self.format == Format::Text {
            return Ok(());
        }
        self.output(data, names, text)
    }

    /// A result of a command that changes something, as soon as it is known: only for people, who have not asked for quiet.
    pub(crate) fn progress_line(&mut self, text: impl fmt::Display) -> io::Result<()> {
        if self.quiet || self.format != Format::Text {
            return Ok(());
        }
        self.data(text)?;
        self.stdout.flush()
    }

    /// A table: the first row is the header. On a terminal, long cells are shortened until it fits.
    pub(crate) fn table(&mut self, rows: &[Vec<String>]) -> io::Result<()> {
        let is_terminal = io::stdout().is_terminal() || std::env::var_os("COLUMNS").is_some();
        let room = if is_terminal { width() } else { usize::MAX };
        lines_of_table(rows, room).iter().try_for_each(|line| self.data(line))
    }

    /// A line for a person, beside the data.
    pub(crate) fn message(&mut self, text: impl fmt::Display) {
        if !self.quiet {
            // If standard error is closed, there is no place to report it.
            let _ = writeln!(self.stderr, "{text}");
        }
    }

    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        if self.quiet && !diagnostic.is_error() {
            return;
        }
        let text = Renderer::styled(width()).render(diagnostic);
        let _ = write!(self.stderr, "{text}");
    }

    /// Shows why a command failed, and returns the exit status.
    pub(crate) fn failure(&mut self, failure: &Failure) -> Exit {
        match failure {
            Failure::Diagnostic(diagnostic) => self.diagnostic(diagnostic),
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Failure::Output(error) => {
                let _ = writeln!(self.stderr, "{BAD}error{BAD:#}: cannot write the output: {error}");
            }
        }
        Exit::Failure
    }

    /// A progress bar that counts objects up to `total`.
    pub(crate) fn progress(&self, total: usize, doing: &'static str) -> ProgressBar {
        let bar = self.spinner();
        let template = format!("{{spinner:.cyan}} {doing} {{pos}} of {{len}} {{wide_msg}}");
        bar.set_style(ProgressStyle::with_template(&template).expect("the text has no braces"));
        bar.set_length(u64::try_from(total).unwrap_or(u64::MAX));
        bar
    }

    /// A spinner that leaves nothing behind. Hidden if standard error is not a terminal.
    pub(crate) fn spinner(&self) -> ProgressBar {
        if self.quiet || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("{spinner:.cyan} {wide_msg}").expect("the template is a constant");
        bar.enable_steady_tick(TICK);
        bar.with_style(style)
    }
}

/// Between columns.
const GAP: &str = "   ";
/// No column is narrower because of a lack of room.
const NARROWEST: usize = 8;

/// The lines of a table that is no wider than `room`, if its columns allow that.
fn lines_of_table(rows: &[Vec<String>], room: usize) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widest =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let mut widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or_default()).collect();
    let gaps = GAP.len() * columns.saturating_sub(1);
    let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(room);
    while let Some(widest) = widths.iter_mut().max().filter(|width| excess > 0 && **width > NARROWEST) {
        *widest -= 1;
        excess -= 1;
    }
    let line = |row: &Vec<String>| {
        let cell = |(cell, width): (&String, &usize)| {
            let cell = shortened(cell, *width);
            format!("{cell:width$}", width = *width)
        };
        let cells: Vec<String> = row.iter().zip(&widths).map(cell).collect();
        cells.join(GAP).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A text of at most `width` characters: the middle is left out, because identifiers differ at their ends.
fn shortened(text: &str, width: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= width {
        return text.to_owned();
    }
    let end = (width - 1) / 2;
    let (start, end) = (&letters[..width - 1 - end], &letters[letters.len() - end..]);
    start.iter().chain(['…'].iter()).chain(end).collect()
}

/// The name of an object, in a form that kubectl and plimsoll accept: `deployment.apps/web`.
pub(crate) fn object_name(object: &ObjectRef) -> String {
    format!("{}/{}", object.gvk.group_kind().to_lowercase(), object.name)
}

/// The number of columns: COLUMNS, otherwise the terminal's width.
pub(crate) fn width() -> usize {
    let set =
        std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let measured = || terminal_size_of(io::stderr()).map(|(Width(columns), _)| usize::from(columns));
    set.or_else(|| measured().filter(|columns| *columns > 0)).unwrap_or(DEFAULT_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_if_it_can() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["NAME", "WORK REQUEST", "AGE"]),
            row(["orders", "ocid1.workrequest.oc1.iad.aaaaaaaaaaaaaaaaaaaaz", "5m"]),
        ];
        insta::assert_snapshot!(lines_of_table(&rows, usize::MAX).join("\n"), @r"
        NAME     WORK REQUEST                                      AGE
        orders   ocid1.workrequest.oc1.iad.aaaaaaaaaaaaaaaaaaaaz   5m
        ");
        insta::assert_snapshot!(lines_of_table(&rows, 40).join("\n"), @r"
        NAME     WORK REQUEST                AGE
        orders   ocid1.workre…aaaaaaaaaaaz   5m
        ");
        assert!(lines_of_table(&rows, 10).iter().all(|line| line.chars().count() <= 6 + 3 + 8 + 3 + 3));
    }
}
