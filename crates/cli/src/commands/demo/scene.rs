//! How the demo looks: numbered titles with lines below them.

use std::fmt;

use diag::Diagnostic;

use crate::printer::{GOOD, Printer};

/// The stage of the demo. It is told to standard error, like everything that is not data.
pub(super) struct Scene<'p> {
    printer: &'p mut Printer,
    number: usize,
}

impl<'p> Scene<'p> {
    pub(super) fn new(printer: &'p mut Printer) -> Self {
        Self { printer, number: 0 }
    }

    /// The next part of the story.
    pub(super) fn title(&mut self, text: &str) {
        self.number += 1;
        let gap = if self.number == 1 { "" } else { "\n" };
        self.printer.message(format_args!("{gap}{GOOD}{}. {text}{GOOD:#}", self.number));
    }

    /// Something that is true.
    pub(super) fn line(&mut self, text: impl fmt::Display) {
        self.printer.message(format_args!("   {text}"));
    }

    /// What plimsoll itself says.
    pub(super) fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        self.printer.message("");
        self.printer.diagnostic(diagnostic);
    }

    /// The printer, for what shows its own progress.
    pub(super) fn printer(&mut self) -> &mut Printer {
        self.printer
    }
}
