//! Source files: a long one holds two subjects, and one without a first sentence has no stated reason to exist.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Test modules do not count; the aim is half of it.
const MAX_LINES: usize = 600;

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for file in rust_files(root)? {
        let text = read(root, &file)?;
        let name = file.display();
        // What `foo/tests.rs` is for, its name says.
        if !text.trim_start().starts_with("//!") && !is_test(&file) {
            findings.push(format!("{name} does not begin with a `//!` sentence that says why it exists"));
        }
        let lines = lines_without_tests(&text);
        if lines > MAX_LINES && !is_test(&file) {
            findings.push(format!(
                "{name} has {lines} lines without tests, more than {MAX_LINES}: split it by subject"
            ));
        }
        if file.file_name().is_some_and(|last| last == "mod.rs") {
            findings.push(format!("{name}: write `foo.rs` beside `foo/` instead of `foo/mod.rs`"));
        }
    }
    Ok(findings)
}

/// The Rust files that people write; `gen/` folders are left out.
pub(super) fn rust_files(root: &Path) -> Result<Vec<PathBuf>> {
    Ok(tracked(root, "*.rs")?.into_iter().filter(|file| !is_generated(file)).collect())
}

/// Files that git tracks or would add, relative to `root`: build output and editor files do not count.
pub(super) fn tracked(root: &Path, pattern: &str) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "--", pattern])
        .current_dir(root)
        .output()
        .context("starting git ls-files")?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    Ok(names.lines().map(PathBuf::from).filter(|file| root.join(file).exists()).collect())
}

pub(super) fn read(root: &Path, file: &Path) -> Result<String> {
    fs::read_to_string(root.join(file)).with_context(|| format!("reading {}", file.display()))
}

fn is_generated(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "gen")
}

pub(super) fn is_test(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "tests")
        || file.file_stem().is_some_and(|stem| stem == "tests")
}

/// Everything but inline test modules (`#[cfg(test)] mod tests { … }`), wherever they stand. A test-only `use`, function
/// or `mod x;` counts: it does not end the code above or below it.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let (mut counted, mut at) = (0, 0);
    while at < lines.len() {
        if let Some(length) = test_module(&lines[at..]) {
            at += length;
        } else {
            counted += 1;
            at += 1;
        }
    }
    counted
}

/// The length of the inline test module that begins with the first line, if one does.
fn test_module(lines: &[&str]) -> Option<usize> {
    let attribute = lines.first()?.trim_start();
    if !attribute.starts_with("#[cfg(test)]") && !attribute.starts_with("#[cfg(all(test,") {
        return None;
    }
    let is_prelude = |line: &&str| line.trim_start().starts_with(['#', '/']);
    let item = lines.iter().take_while(|line| is_prelude(line)).count();
    let opening = lines.get(item)?.trim_start();
    let is_module = opening.starts_with("mod ") || (opening.starts_with("pub") && opening.contains(" mod "));
    if !is_module || opening.ends_with(';') {
        return None;
    }
    if opening.ends_with('}') {
        return Some(item + 1);
    }
    // rustfmt puts the closing brace under the attribute.
    let indent = lines[0].len() - attribute.len();
    let closing = format!("{}}}", &lines[0][..indent]);
    lines.iter().position(|line| *line == closing).map(|end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_inline_test_modules_are_left_out_of_the_length() {
        let check = |text: &str, lines| assert_eq!(lines_without_tests(text), lines, "{text}");
        check("//! Doc.\n\nfn f() {}\n#[cfg(test)]\nmod tests {}\n", 3);
        check("fn f() {}\n#[cfg(test)]\nmod tests {\n    fn t() {\n    }\n}\nfn g() {}\n", 2);
        check("mod a {\n    #[cfg(test)]\n    mod tests {\n        fn t() {}\n    }\n    fn f() {}\n}\n", 3);
        check("#[cfg(test)]\n#[expect(dead_code)]\n// Why.\npub(crate) mod tests {\n}\nfn f() {}\n", 1);
        check("#[cfg(test)]\nmod tests;\nfn f() {}\n", 3);
        check("#[cfg(test)]\nuse a::b;\n\n#[cfg(test)]\nfn t() {\n}\nfn f() {}\n", 7);
        check("#[cfg(any(test, feature = \"x\"))]\nmod a {\n}\n", 3);
    }

    #[test]
    fn test_and_generated_files_are_recognised_by_their_place() {
        assert!(is_test(Path::new("crates/a/src/b/tests.rs")));
        assert!(is_test(Path::new("crates/a/tests/b.rs")));
        assert!(!is_test(Path::new("crates/testkit/src/lib.rs")));
        assert!(is_generated(Path::new("crates/a/src/gen/b.rs")));
    }
}
