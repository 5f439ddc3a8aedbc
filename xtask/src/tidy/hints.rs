//! Hints: STYLE.md wants an instruction in a whole sentence, so that all of them read alike.

use std::path::Path;

use anyhow::Result;

use super::files::{is_test, read, rust_files};

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for file in rust_files(root)?.into_iter().filter(|file| !is_test(file)) {
        let text = read(root, &file)?;
        let wrong = hints(&text).into_iter().filter(|hint| !is_sentence(hint));
        findings.extend(wrong.map(|hint| {
            format!(
                "{}: the hint {hint:?} does not start with a capital letter (STYLE.md, 3)",
                file.display()
            )
        }));
    }
    Ok(findings)
}

/// The literals that are given to `.hint(…)`, directly or through `format!`.
fn hints(text: &str) -> Vec<&str> {
    let calls = text.split(".hint(").skip(1);
    calls
        .filter_map(|call| {
            let argument = call.trim_start();
            let argument = argument.strip_prefix("format!(").unwrap_or(argument).trim_start();
            let literal = argument.strip_prefix('"')?;
            Some(literal.split('"').next().unwrap_or(literal))
        })
        .collect()
}

/// Names of programs and of what is to be typed keep their own letters.
fn is_sentence(hint: &str) -> bool {
    hint.starts_with(|first: char| !first.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_found_in_calls_and_judged_by_their_first_letter() {
        let text = ".hint(\"Use it.\") .hint(\n    format!(\"stop {name}\")) .hint(advice)";
        assert_eq!(hints(text), ["Use it.", "stop {name}"]);
        assert!(is_sentence("Use it.") && is_sentence("`go` is missing.") && !is_sentence("stop {name}"));
    }
}
