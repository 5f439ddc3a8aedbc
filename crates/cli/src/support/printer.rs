//! The only writer to standard output and standard error.
//!
//! Data goes to standard output, everything else to standard error, so a pipe carries nothing but data. Colour is
//! always written, and anstream strips it where it is not wanted.

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use diag::Diagnostic;
use diag::terminal::Renderer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use manifest::ObjectRef;
use serde::Serialize;

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
            Format::Text => text(self),
        }
    }

    /// A table: the first row is the header, columns are as wide as they need to be.
    pub(crate) fn table(&mut self, rows: &[Vec<String>]) -> io::Result<()> {
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
        for row in rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                write!(line, "{cell:width$}   ").map_err(io::Error::other)?;
            }
            self.data(line.trim_end())?;
        }
        Ok(())
    }

    /// A line for a person, beside the data.
    pub(crate) fn message(&mut self, text: impl fmt::Display) {
        if !self.quiet {
            // If standard error is closed, there is no place to report it.
            let _ = writeln!(self.stderr, "{text}");
        }
    }

    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic) {
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

/// The name of an object, in a form that kubectl and plimsoll accept: `deployment.apps/web`.
pub(crate) fn object_name(object: &ObjectRef) -> String {
    format!("{}/{}", object.gvk.group_kind().to_lowercase(), object.name)
}

/// The number of columns: COLUMNS, otherwise the terminal's width.
pub(crate) fn width() -> usize {
    let set =
        std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let measured = || rustix::termios::tcgetwinsize(io::stderr()).ok().map(|size| usize::from(size.ws_col));
    set.or_else(|| measured().filter(|columns| *columns > 0)).unwrap_or(DEFAULT_WIDTH)
}
