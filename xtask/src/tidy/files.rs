//! Source files: long ones are two subjects in one room, and one without a first sentence has no stated reason to exist.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The hard stop, tests left out; the aim is half of it.
const MOST_LINES: usize = 600;

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for file in rust_files(root)? {
        let text =
            fs::read_to_string(root.join(&file)).with_context(|| format!("reading {}", file.display()))?;
        let name = file.display();
        if is_generated(&file) {
            continue;
        }
        // What `foo/tests.rs` is for, its name says.
        if !text.trim_start().starts_with("//!") && !is_test(&file) {
            findings.push(format!("{name} does not begin with a `//!` sentence that says why it exists"));
        }
        let lines = lines_without_tests(&text);
        if lines > MOST_LINES && !is_test(&file) {
            findings.push(format!(
                "{name} has {lines} lines without tests, more than {MOST_LINES}: split it by subject"
            ));
        }
        if file.file_name().is_some_and(|last| last == "mod.rs") {
            findings.push(format!("{name}: write `foo.rs` beside `foo/` instead of `foo/mod.rs`"));
        }
    }
    Ok(findings)
}

/// What git knows or would add, so that build output and editors' files do not count.
pub(super) fn rust_files(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "--", "*.rs"])
        .current_dir(root)
        .output()
        .context("starting git ls-files")?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    Ok(names.lines().map(PathBuf::from).filter(|file| root.join(file).exists()).collect())
}

fn is_generated(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "gen")
}

pub(super) fn is_test(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "tests")
        || file.file_stem().is_some_and(|stem| stem == "tests")
}

/// Lines before the inline test module, which by convention ends its file.
fn lines_without_tests(text: &str) -> usize {
    text.lines().take_while(|line| *line != "#[cfg(test)]").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_tests_do_not_count_as_length() {
        assert_eq!(lines_without_tests("//! Doc.\n\nfn f() {}\n#[cfg(test)]\nmod tests {}\n"), 3);
    }

    #[test]
    fn test_and_generated_files_are_recognised_by_their_place() {
        assert!(is_test(Path::new("crates/a/src/b/tests.rs")));
        assert!(is_test(Path::new("crates/a/tests/b.rs")));
        assert!(!is_test(Path::new("crates/testkit/src/lib.rs")));
        assert!(is_generated(Path::new("crates/a/src/gen/b.rs")));
    }
}
