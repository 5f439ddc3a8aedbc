//! Quoted texts whose lines are not indented more than their key: YAML 1.2 forbids them, Go's tools read them.
//!
//! ```yaml
//! metadata:
//!   message: "first line
//!   second line"
//! ```
//!
//! The spaces in front of such a line are no part of the text, so the parser is given a copy with more of them, and
//! the places it reports are brought back to where they are in what was written.

/// A text, or a copy of it with more spaces in front of some lines.
pub(crate) struct Indented<'t> {
    written: &'t str,
    /// Where spaces are put in, in order.
    insertions: Vec<Insertion>,
}

#[derive(Clone, Copy)]
struct Insertion {
    /// The beginning of the line, as an offset in what was written.
    at: usize,
    spaces: usize,
    /// How many spaces are put in before this place.
    before: usize,
}

impl<'t> Indented<'t> {
    pub(crate) fn new(written: &'t str) -> Self {
        Self { written, insertions: Vec::new() }
    }

    /// Indents the lines of the quoted text that is the next token after `end`; false if that changes nothing.
    pub(crate) fn indent_next_quoted(&mut self, end: usize) -> bool {
        let Some(quote) = next_quote(self.written, end) else { return false };
        let line_start = self.written[..quote].rfind('\n').map_or(0, |newline| newline + 1);
        let spaces = self.written[line_start..quote].chars().count().max(1);
        let lines: Vec<usize> = continuation_lines(self.written, quote).collect();
        let Some(first) = lines.first() else { return false };
        let known = self.insertions.binary_search_by_key(first, |insertion| insertion.at).is_ok();
        if known || lines.iter().any(|line| is_marker(&self.written[*line..])) {
            return false;
        }
        self.insertions.extend(lines.iter().map(|line| Insertion { at: *line, spaces, before: 0 }));
        self.insertions.sort_unstable_by_key(|insertion| insertion.at);
        let mut before = 0;
        for insertion in &mut self.insertions {
            insertion.before = before;
            before += insertion.spaces;
        }
        true
    }

    /// The text with the spaces put in.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(self.written.len());
        let mut copied = 0;
        for insertion in &self.insertions {
            text.push_str(&self.written[copied..insertion.at]);
            text.extend(std::iter::repeat_n(' ', insertion.spaces));
            copied = insertion.at;
        }
        text.push_str(&self.written[copied..]);
        text
    }

    /// Where the byte `offset` of [`Self::text`] stands in what was written.
    pub(crate) fn written_offset(&self, offset: usize) -> usize {
        let start = |insertion: &Insertion| insertion.at + insertion.before;
        let earlier = self.insertions.partition_point(|insertion| start(insertion) < offset);
        match self.insertions[..earlier].last() {
            Some(last) => offset - last.before - last.spaces.min(offset - start(last)),
            None => offset,
        }
    }
}

/// The quote that is the next token after `end`; only punctuation, properties and comments may stand before it.
pub(crate) fn next_quote(text: &str, end: usize) -> Option<usize> {
    let mut at = end;
    loop {
        let rest = &text[at..];
        let first = rest.chars().next()?;
        at += match first {
            '"' | '\'' => return Some(at),
            '#' => rest.find('\n')?,
            '&' | '!' => rest.find(char::is_whitespace)?,
            ':' | '-' | '?' | ',' | '[' | '{' => 1,
            _ if first.is_whitespace() => first.len_utf8(),
            _ => return None,
        };
    }
}

/// Where the lines begin that belong to the quoted text at `quote`, without the first; up to the end of the text if the
/// quote is not closed.
fn continuation_lines(text: &str, quote: usize) -> impl Iterator<Item = usize> {
    let mark = text.as_bytes()[quote];
    // In double quotes a backslash escapes what follows; in single quotes a quote escapes only another one.
    let escape = if mark == b'"' { b'\\' } else { b'\'' };
    let mut bytes = text.bytes().enumerate().skip(quote + 1).peekable();
    std::iter::from_fn(move || {
        while let Some((at, byte)) = bytes.next() {
            let escapes = |next: u8| next == mark || next == escape;
            if byte == escape && bytes.next_if(|(_, next)| escapes(*next)).is_some() {
                continue;
            }
            if byte == mark {
                return None;
            }
            if byte == b'\n' {
                return Some(at + 1);
            }
        }
        None
    })
}

fn is_marker(line: &str) -> bool {
    ["---", "..."].iter().any(|marker| {
        line.strip_prefix(marker)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, end: usize, expected: &str) {
        let mut indented = Indented::new(written);
        assert_eq!(indented.indent_next_quoted(end), expected != written, "{written:?}");
        assert_eq!(indented.text(), expected);
        assert!(!indented.indent_next_quoted(end), "a second time changes nothing");
        for (offset, character) in expected.char_indices().filter(|(_, character)| *character != ' ') {
            let back = indented.written_offset(offset);
            assert_eq!(written[back..].chars().next(), Some(character), "{written:?} at {offset}");
        }
        assert_eq!(indented.written_offset(expected.len()), written.len());
    }

    #[test]
    fn the_lines_of_a_quoted_text_are_indented() {
        check("a: \"b\nc\n\nd\"\ne: 1\n", 1, "a: \"b\n   c\n   \n   d\"\ne: 1\n");
        check("a: 'it''s\nb'\n", 1, "a: 'it''s\n   b'\n");
        check("a: \"b\\\"\nc\\\\\"\nd: 'x\n'", 1, "a: \"b\\\"\n   c\\\\\"\nd: 'x\n'");
        check("a: \"b\\\nc\"", 1, "a: \"b\\\n   c\"");
        check("a: # it's\n  &x !y 'b\nc'", 1, "a: # it's\n  &x !y 'b\n        c'");
        check("- 'b\n- c'", 0, "- 'b\n  - c'");
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        check("a: \"b\"\nc: 1\n", 1, "a: \"b\"\nc: 1\n");
        check("a: b\n'c\nd'", 1, "a: b\n'c\nd'");
        check("a: 'b\n...\nc'", 1, "a: 'b\n...\nc'");
        check("a:", 2, "a:");
    }
}
