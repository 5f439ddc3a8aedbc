//! Builds a longer text line by line.

use std::fmt;
use std::fmt::Write;

/// A text of several paragraphs, without a line break at its end.
#[derive(Default)]
pub(super) struct Text(String);

impl Text {
    pub(super) fn line(&mut self, line: impl fmt::Display) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        write!(self.0, "{line}").expect("writing to a string cannot fail");
    }

    pub(super) fn blank(&mut self) {
        self.0.push('\n');
    }

    /// A paragraph of one line, if there is a reason.
    pub(super) fn reason(&mut self, label: &str, reason: Option<String>) {
        if let Some(reason) = reason {
            self.blank();
            self.line(format_args!("{label}: {reason}"));
        }
    }

    /// A paragraph with a heading and an item a line.
    pub(super) fn list(&mut self, heading: &str, items: impl IntoIterator<Item = impl fmt::Display>) {
        self.blank();
        self.line(heading);
        for item in items {
            self.line(format_args!("  {item}"));
        }
    }

    /// A list within a paragraph; nothing if it is empty.
    pub(super) fn sublist(&mut self, heading: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.line(format_args!("  {heading}"));
        for item in items {
            self.line(format_args!("    {item}"));
        }
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}
