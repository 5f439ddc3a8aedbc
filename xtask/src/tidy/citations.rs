//! Citations: a reader of this repository can open everything that a comment or a page refers to.

use std::path::Path;
use std::sync::LazyLock;

use anyhow::Result;
use regex::Regex;

use super::files::{is_test, read, rust_files, tracked};

/// What a citation must not be, and what to write instead.
struct Forbidden {
    pattern: &'static str,
    in_: &'static [Text],
    instead: &'static str,
}

/// The kinds of text that people read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    Comment,
    /// Code of programs, for the sake of the messages in it.
    Code,
    TestCode,
    Page,
}

use Text::{Code, Comment, Page, TestCode};

const FORBIDDEN: &[Forbidden] = &[
    Forbidden {
        pattern: r"(?i)\bseed 00\d|\bdecisions, |\bdecisions\.md\b|\.\./shared\b",
        in_: &[Comment, Code, TestCode, Page],
        instead: "give the reason itself, or cite a chapter of the book",
    },
    Forbidden {
        pattern: r"(?i)\bbug[ _]\d+",
        in_: &[Comment, Code, TestCode, Page],
        instead: "say what is true",
    },
    Forbidden {
        // A page called reference, and references between objects, are not meant.
        pattern: r"(?i)\bthe reference\b(?: (?:of|in|to|that|pages?)\b|\])?",
        in_: &[Comment, Code, TestCode, Page],
        instead: "name the system: Crossplane, the Go provider, OSOK, kubectl",
    },
    Forbidden {
        pattern: r"\b[Rr]ows? [A-Z]\d*\b",
        in_: &[Comment, TestCode],
        instead: "say what the row says",
    },
    Forbidden {
        pattern: r"\b[Rr]ows? (?:[A-Z]\d*|\d+)\b",
        in_: &[Code, Page],
        instead: "users do not know our table: say what the row says",
    },
];

static RULES: LazyLock<Vec<(Regex, &Forbidden)>> = LazyLock::new(|| {
    let compiled = FORBIDDEN.iter().map(|rule| (Regex::new(rule.pattern).expect("a constant pattern"), rule));
    compiled.collect()
});

/// Paths, and names of pages.
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[\s(\[`\x22'])((?:[\w.-]+/)+[\w.-]+|[\w-]+\.md)\b").expect("a constant pattern")
});

/// The folders of the repository that are cited as a whole, too. `deploy/web` and `docs/x` may be something else.
const FOLDERS: &[&str] = &["book/src/", "crates/", "xtask/", "tools/", "proto/", "bench/", "fuzz/"];
/// Cited by their files.
const FILES: &[&str] = &["deploy/", "docs/", "examples/", "./", "../"];

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    // This file has to name what it forbids.
    let files = rust_files(root)?.into_iter().chain(tracked(root, "*.md")?);
    for file in files.filter(|file| file != Path::new(file!())) {
        let text = read(root, &file)?;
        for (number, line) in text.lines().enumerate() {
            let at = || format!("{}:{}", file.display(), number + 1);
            let parts = parts(&file, line);
            for (kind, part) in &parts {
                findings.extend(
                    forbidden(*kind, part).map(|(found, instead)| format!("{}: {found:?}: {instead}", at())),
                );
            }
            let cited = parts.iter().filter(|(kind, _)| matches!(kind, Comment | Page));
            let missing = cited.flat_map(|(_, part)| paths(part)).filter(|path| !exists(root, &file, path));
            findings.extend(missing.map(|path| format!("{}: {path} does not exist", at())));
        }
    }
    Ok(findings)
}

/// A line by the kinds of text in it.
fn parts<'t>(file: &Path, line: &'t str) -> Vec<(Text, &'t str)> {
    if file.extension().is_some_and(|extension| extension == "md") {
        return vec![(Page, line)];
    }
    let code = if is_test(file) { TestCode } else { Code };
    let comment = if line.trim_start().starts_with("//") { Some(0) } else { line.find(" // ") };
    match comment {
        Some(at) => vec![(code, &line[..at]), (Comment, &line[at..])],
        None => vec![(code, line)],
    }
}

fn forbidden(kind: Text, part: &str) -> impl Iterator<Item = (&str, &'static str)> {
    let applicable = RULES.iter().filter(move |(_, rule)| rule.in_.contains(&kind));
    applicable.filter_map(move |(pattern, rule)| {
        let found = pattern.find_iter(part).find(|found| !is_common_noun(found.as_str()))?;
        Some((found.as_str(), rule.instead))
    })
}

/// Whether "the reference" goes on in a way that cannot mean a system.
fn is_common_noun(found: &str) -> bool {
    [" of", " in", " to", " that", " page", " pages", "]"].iter().any(|more| found.ends_with(more))
}

fn paths(part: &str) -> impl Iterator<Item = &str> {
    let cited = PATH.captures_iter(part).filter_map(|found| Some(found.get(1)?.as_str()));
    cited.filter(|path| {
        let begins_with = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
        let is_file = Path::new(path).extension().is_some();
        !path.contains('/') || begins_with(FOLDERS) || (is_file && begins_with(FILES))
    })
}

/// A path counts from the root, from the file that cites it, or from the root of its crate.
fn exists(root: &Path, file: &Path, path: &str) -> bool {
    let path = path.trim_end_matches('.');
    let folder = file.parent().unwrap_or(file);
    let of_crate = file.ancestors().find(|folder| root.join(folder).join("Cargo.toml").exists());
    [Some(Path::new("")), Some(folder), of_crate]
        .into_iter()
        .flatten()
        .any(|base| root.join(base).join(path).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_that_cannot_be_followed_are_found() {
        let check = |kind, text: &str, expected: &[&str]| {
            let found: Vec<&str> = forbidden(kind, text).map(|(found, _)| found).collect();
            assert_eq!(found, expected, "{text}");
        };
        check(Comment, "// See seed 003, 5.", &["seed 003"]);
        check(Comment, "// decided (decisions, seed 001)", &["decisions, "]);
        check(TestCode, "fn bug_12_is_fixed() {", &["bug_12"]);
        check(Comment, "// The reference's finalizer, as the reference does", &["The reference"]);
        check(Page, "listed in the reference of the book; [the reference](x.md)", &[]);
        check(Comment, "// row F", &["row F"]);
        check(Comment, "// row 13 of the table", &[]);
        check(Code, "\"(row 7, take from an active manager)\"", &["row 7"]);
        check(Page, "rows of a table, row by row", &[]);
    }

    #[test]
    fn cited_paths_are_read_from_prose() {
        let check =
            |text: &str, expected: &[&str]| assert_eq!(paths(text).collect::<Vec<_>>(), expected, "{text}");
        check("see `crates/diag/src/code.rs` and STYLE.md.", &["crates/diag/src/code.rs", "STYLE.md"]);
        check("book/src/design/composition.md, then", &["book/src/design/composition.md"]);
        check("kubectl scale deploy/web", &[]);
        check("`grpc/doc/naming.md`, https://kubernetes.io/docs/concepts/x.md", &[]);
        check("from examples/demo/main.tf", &["examples/demo/main.tf"]);
    }

    #[test]
    fn comments_are_told_apart_from_code() {
        let file = Path::new("crates/a/src/b.rs");
        assert_eq!(parts(file, "    // why"), [(Code, ""), (Comment, "    // why")]);
        assert_eq!(parts(file, "f(); // why"), [(Code, "f();"), (Comment, " // why")]);
        assert_eq!(parts(Path::new("crates/a/tests/b.rs"), "f();"), [(TestCode, "f();")]);
    }
}
