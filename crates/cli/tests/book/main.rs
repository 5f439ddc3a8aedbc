//! The book and README: generated pages are fresh, and the commands in them work.

#![expect(clippy::unwrap_used, reason = "all of this is tests, also what has no #[test] of its own")]

mod blocks;
mod chapters;
mod reader;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use reader::Reader;

const PLIMSOLL: &str = env!("CARGO_BIN_EXE_plimsoll");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

#[test]
fn the_generated_pages_are_up_to_date() {
    for page in ["cli", "kinds", "cloud-kinds", "diagnostics"] {
        let printed = Command::new(PLIMSOLL).args(["reference", page]).output().unwrap();
        assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
        let kept =
            fs::read_to_string(root().join(format!("book/src/reference/{page}.md"))).unwrap_or_default();
        let is_fresh = kept == String::from_utf8(printed.stdout).unwrap();
        assert!(is_fresh, "book/src/reference/{page}.md is stale: run `cargo xtask book`");
    }
}

#[test]
fn every_command_says_how_it_prints_json() {
    let read = |page: &str| fs::read_to_string(root().join("book/src/reference").join(page)).unwrap();
    let (commands, page) = (read("cli.md"), read("json.md"));
    let title = |line: &str| {
        let title = line.trim_start_matches('#').strip_prefix(" `plimsoll ")?;
        Some(title.trim_end_matches('`').to_owned())
    };
    let titles: Vec<String> = commands.lines().filter_map(title).collect();
    assert!(titles.len() > 30, "{titles:?}");
    for title in &titles {
        let is_group = titles.iter().any(|other| other.starts_with(&format!("{title} ")));
        let is_named = ["`", " --"].iter().any(|end| page.contains(&format!("`{title}{end}")));
        assert!(is_group || is_named, "book/src/reference/json.md does not mention `{title}`");
    }
}

#[test]
fn the_commands_of_the_first_chapter_work() {
    Reader::new().follow("book/src/first-steps.md", "", "", |_| true);
}

#[test]
fn the_commands_for_users_of_kubectl_work() {
    Reader::new().follow("book/src/migration/kubectl.md", "", "", |_| true);
}

#[test]
fn the_commands_about_platform_changes_work() {
    Reader::new().follow("book/src/platform-changes.md", "", "", |_| true);
}

#[test]
fn the_commands_of_the_readme_work() {
    // A test cannot run its own suite, and the demo has a test of its own.
    let elsewhere = ["cargo test --workspace", "./demo"];
    Reader::new().follow("README.md", "", "", |command| !elsewhere.contains(&command));
}
