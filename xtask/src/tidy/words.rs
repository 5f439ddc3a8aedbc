//! Words that mark a sentence as translated: what people read here is idiomatic English (`STYLE.md`).

use std::path::Path;
use std::sync::LazyLock;

use anyhow::Result;
use regex::Regex;

use super::files::{read, rust_files, tracked};

static TELL_TALES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:\b|_)(somebody|nobody|whoever|gone over|is since)(?:\b|_)")
        .expect("a constant pattern")
});

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    // This file has to name what it looks for.
    let files = rust_files(root)?.into_iter().chain(tracked(root, "*.md")?);
    for file in files.filter(|file| file != Path::new(file!())) {
        for (number, line) in read(root, &file)?.lines().enumerate() {
            findings.extend(TELL_TALES.captures(line).map(|found| {
                let (name, word) = (file.display(), &found[1]);
                format!("{name}:{}: {word:?}: name the person or the program", number + 1)
            }));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tell_tales_are_found_in_prose_and_in_names() {
        let check = |text: &str, found: bool| assert_eq!(TELL_TALES.is_match(text), found, "{text}");
        check("// Somebody changed it.", true);
        check("fn nobody_else_holds_it() {", true);
        check("XRDs that are gone over at once", true);
        check("It is sincere.", false);
        check("nobodyknows", false);
    }
}
