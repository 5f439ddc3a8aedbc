//! The layout of the demo: numbered titles with lines below them.

use std::fmt;
use std::io::{self, BufRead as _};

use crate::support::printer::{DIM, GOOD, LITERAL, Printer};

/// Prints the demo to standard error, like everything that is not data.
pub(super) struct Transcript<'p> {
    printer: &'p mut Printer,
    number: usize,
    pauses: bool,
}

impl<'p> Transcript<'p> {
    pub(super) fn new(printer: &'p mut Printer, pauses: bool) -> Self {
        Self { printer, number: 0, pauses }
    }

    /// The title of the next step.
    pub(super) fn title(&mut self, text: &str) {
        if self.pauses && self.number > 0 {
            self.printer.message(format_args!("\n{DIM}   press Enter{DIM:#}"));
            // Without a terminal, the demo continues by itself.
            let _ = io::stdin().lock().read_line(&mut String::new());
        }
        self.number += 1;
        let gap = if self.number == 1 { "" } else { "\n" };
        self.printer.message(format_args!("{gap}{GOOD}{}. {text}{GOOD:#}", self.number));
    }

    /// A statement that was checked.
    pub(super) fn line(&mut self, text: impl fmt::Display) {
        self.printer.message(format_args!("   {text}"));
    }

    /// A command as a user types it.
    pub(super) fn typed(&mut self, command: &str) {
        self.line(format_args!("{LITERAL}$ {command}{LITERAL:#}"));
    }

    /// The printer, for work that shows its own progress.
    pub(super) fn printer(&mut self) -> &mut Printer {
        self.printer
    }
}
