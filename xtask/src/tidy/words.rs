//! Words that mark a sentence as translated: what people read here is idiomatic English (`STYLE.md`).

use std::path::Path;
use std::sync::LazyLock;

use anyhow::Result;
use regex::Regex;

use super::files::{read, rust_files, tracked};

static TELL_TALES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(?:\b|_|//)(somebody|nobodys?|whoever|gone over|is since|does not go with|told|bar \d|/ as many)(?:\b|_)(?: ?(apart|from))?",
    )
    .expect("a constant pattern")
});

/// The word that gives a line away. `told apart` and `told from` are idiomatic.
fn tell_tale(line: &str) -> Option<&str> {
    let mut found = TELL_TALES
        .captures_iter(line)
        .filter(|found| found.get(2).is_none() || !found[1].eq_ignore_ascii_case("told"));
    Some(found.next()?.get(1)?.as_str())
}

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    // This file has to name what it looks for.
    let mut files = rust_files(root)?;
    for pattern in ["*.md", "*.go", "*.yaml"] {
        files.extend(tracked(root, pattern)?);
    }
    for file in files.into_iter().filter(|file| file != Path::new(file!())) {
        for (number, line) in read(root, &file)?.lines().enumerate() {
            findings.extend(tell_tale(line).map(|word| {
                let name = file.display();
                format!("{name}:{}: {word:?}: name the person, the program or the limit", number + 1)
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
        let check = |text: &str, found: bool| assert_eq!(tell_tale(text).is_some(), found, "{text}");
        check("// Somebody changed it.", true);
        check("fn nobody_else_holds_it() {", true);
        check("XRDs that are gone over at once", true);
        check("It is sincere.", false);
        check("nobodyknows", false);
        check("let told = read();", true);
        check("They can be told apart, and told from others.", false);
        check("told apart, told twice", true);
        check("fn ours_are_told_from_theirs() {", false);
        check("/// Bar 4: at once.", true);
        check("/// As many as are read at a time.", true);
        check("/// Twice as many.", false);
    }
}
