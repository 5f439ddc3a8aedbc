//! Places in a text: spans in bytes, positions in lines and columns.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text that diagnostics can point into, with the name people know it by (a path, `yaml_body`, `<stdin>`).
///
/// Cloning is cheap: every diagnostic about a file shares its text.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
}

impl Source {
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn position(&self, span: Span) -> Position {
        Position::of(&self.text, span.start)
    }
}

/// Names the source and leaves the text out: it may hold a Secret.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({}, {} bytes)", self.name, self.text.len())
    }
}

/// A range of bytes in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    pub start: usize,
    /// Exclusive.
    pub end: usize,
}

impl Span {
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

/// A line and a column, both counted from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    /// The position of the byte `offset` in `text`; an offset past the end is the end.
    pub fn of(text: &str, offset: usize) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let line = before.split(|byte| *byte == b'\n').count();
        // Continuation bytes of UTF-8 (0b10xx_xxxx) belong to the character before them.
        let column =
            before[line_start..].iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000).count() + 1;
        Self { line, column }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A place in a source: where a diagnostic points to, and what to write next to the marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub source: Source,
    pub span: Span,
    /// What to write beside the marker; may be empty.
    pub label: String,
}

impl Location {
    pub fn position(&self) -> Position {
        self.source.position(self.span)
    }
}

/// `name:line:column`, the form editors and terminals turn into a link.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source.name(), self.position())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let check = |offset, line, column| {
            assert_eq!(Position::of("a: 1\nbé: 2\n", offset), Position { line, column }, "offset {offset}");
        };
        check(0, 1, 1);
        check(3, 1, 4);
        check(5, 2, 1);
        check(8, 2, 3);
        check(12, 3, 1);
        check(99, 3, 1);
    }

    #[test]
    fn a_source_keeps_its_text_out_of_debug_output() {
        let source = Source::new("secret.yaml", "password: hunter2");
        assert_eq!(format!("{source:?}"), "Source(secret.yaml, 17 bytes)");
    }
}
