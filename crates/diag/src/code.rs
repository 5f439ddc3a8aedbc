//! A stable name for a kind of diagnostic, so that people can search for it and tests can rely on it.

use std::fmt;

/// A stable name together with its entry in the diagnostics reference, both fixed at compile time.
///
/// Crates define theirs with [`codes!`](crate::codes), from a page of entries in Markdown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    name: &'static str,
    entry: &'static str,
}

impl Code {
    /// A code named `name`: lower case, words joined by hyphens.
    ///
    /// Evaluated at compile time in a `const`, so a malformed name does not build.
    pub const fn new(name: &'static str, entry: &'static str) -> Self {
        let bytes = name.as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            assert!(
                bytes[i].is_ascii_lowercase() || bytes[i].is_ascii_digit() || bytes[i] == b'-',
                "a code is lower-case words joined by hyphens"
            );
            i += 1;
        }
        assert!(i > 0, "a code has a name");
        Self { name, entry }
    }

    /// The code whose entry is below the heading `## name` of a page. A missing entry does not build.
    pub const fn on_page(page: &'static str, name: &'static str) -> Self {
        let mut rest = page;
        while let Some((_, below)) = split_at_heading(rest) {
            rest = below;
            if starts_with_line(below, name) {
                let (entry, _) = match split_at_heading(below) {
                    Some(split) => split,
                    None => (below, ""),
                };
                return Self::new(name, entry.split_at(name.len()).1.trim_ascii());
            }
        }
        panic!("every code has an entry on its crate's page")
    }

    pub const fn name(self) -> &'static str {
        self.name
    }

    /// What the code means, why it is reported and what to do, in Markdown.
    pub const fn entry(self) -> &'static str {
        self.entry
    }

    /// The command that prints the entry, for codes whose entry says more than a message can.
    pub fn explain_command(self) -> Option<String> {
        self.entry.contains("\n\n").then(|| format!("plimsoll explain {}", self.name))
    }
}

/// Splits at the first `## ` that begins a line; the marker itself is dropped.
const fn split_at_heading(text: &'static str) -> Option<(&'static str, &'static str)> {
    let bytes = text.as_bytes();
    let mut i = 0;
    while i + 3 <= bytes.len() {
        let begins_line = i == 0 || bytes[i - 1] == b'\n';
        if begins_line && bytes[i] == b'#' && bytes[i + 1] == b'#' && bytes[i + 2] == b' ' {
            return Some((text.split_at(i).0, text.split_at(i + 3).1));
        }
        i += 1;
    }
    None
}

const fn starts_with_line(text: &str, line: &str) -> bool {
    let (text, line) = (text.as_bytes(), line.as_bytes());
    if text.len() <= line.len() || text[line.len()] != b'\n' {
        return false;
    }
    let mut i = 0;
    while i < line.len() {
        if text[i] != line[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// How many entries a page has.
#[doc(hidden)]
pub const fn entries_on_page(page: &'static str) -> usize {
    let mut rest = page;
    let mut count = 0;
    while let Some((_, below)) = split_at_heading(rest) {
        rest = below;
        count += 1;
    }
    count
}

/// Defines the codes of a crate and the table `CODES` of all of them. Their entries are in a Markdown file beside the
/// one that calls the macro, each below `## name`; an entry without a code, or a code without one, does not build.
#[macro_export]
macro_rules! codes {
    ($page:literal; $table:vis const CODES; $($visibility:vis const $name:ident = $code:literal;)*) => {
        $($visibility const $name: $crate::Code = $crate::Code::on_page(include_str!($page), $code);)*

        /// For `plimsoll explain` and the book's reference.
        $table const CODES: &[$crate::Code] = &[$($name),*];

        const _: () = assert!(
            CODES.len() == $crate::entries_on_page(include_str!($page)),
            "every entry of the page has a code"
        );
    };
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Codes\n\n## a-b\n\nShort.\n\n## a\n\nLonger.\n\n    ## not a heading\n";

    #[test]
    fn an_entry_is_the_text_below_its_heading() {
        const LONG: Code = Code::on_page(PAGE, "a");
        const SHORT: Code = Code::on_page(PAGE, "a-b");
        assert_eq!(LONG.entry(), "Longer.\n\n    ## not a heading");
        assert_eq!(SHORT.entry(), "Short.");
        assert_eq!(entries_on_page(PAGE), 2);
    }

    #[test]
    fn only_an_entry_of_several_paragraphs_is_worth_a_command() {
        assert_eq!(Code::on_page(PAGE, "a").explain_command().as_deref(), Some("plimsoll explain a"));
        assert_eq!(Code::on_page(PAGE, "a-b").explain_command(), None);
    }
}
