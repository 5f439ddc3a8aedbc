//! A stable name for a kind of diagnostic, so that people can search for it and tests can rely on it.

use std::fmt;

/// A stable name together with what it means, both fixed at compile time.
///
/// Crates define theirs as constants and list them in a `CODES` table, from which the book's reference is made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    name: &'static str,
    about: &'static str,
}

impl Code {
    /// A code named `name` (lower case, words joined by hyphens); `about` explains it in a sentence or two.
    ///
    /// Evaluated at compile time in a `const`, so a malformed name does not build.
    pub const fn new(name: &'static str, about: &'static str) -> Self {
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
        Self { name, about }
    }

    pub const fn name(self) -> &'static str {
        self.name
    }

    /// What the code means and what usually helps.
    pub const fn about(self) -> &'static str {
        self.about
    }
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
