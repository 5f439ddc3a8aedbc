//! What no compiler checks: the shape of the workspace, its files, its messages and its manifests.
//!
//! Every check returns sentences that say what is wrong and where; `cargo test` and `cargo xtask tidy` run them all.

mod citations;
mod dependencies;
mod files;
mod hints;
mod layers;
mod links;
mod words;

use anyhow::{Result, bail};

/// Runs every check and fails with all findings at once.
#[expect(clippy::print_stdout, reason = "a task reports to its caller")]
pub(crate) fn run() -> Result<()> {
    let findings = findings()?;
    if !findings.is_empty() {
        bail!("{} findings:\n- {}", findings.len(), findings.join("\n- "));
    }
    println!("tidy: no findings");
    Ok(())
}

fn findings() -> Result<Vec<String>> {
    let root = crate::root();
    let checks = [
        layers::check,
        files::check,
        hints::check,
        dependencies::check,
        links::check,
        citations::check,
        words::check,
    ];
    let mut findings = Vec::new();
    for check in checks {
        findings.extend(check(&root)?);
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    #[test]
    fn the_workspace_is_tidy() {
        let findings = super::findings().expect("the checks run");
        assert!(findings.is_empty(), "\n- {}", findings.join("\n- "));
    }

    #[test]
    fn the_code_is_formatted() {
        let formatted = Command::new(env!("CARGO"))
            .args(["fmt", "--all", "--check"])
            .current_dir(crate::root())
            .output()
            .expect("cargo fmt starts");
        assert!(
            formatted.status.success(),
            "run `cargo fmt --all`:\n{}",
            String::from_utf8_lossy(&formatted.stdout)
        );
    }

    /// cargo-deny is a development tool of its own; where it is missing, the rest of the suite is still worth running.
    #[test]
    fn dependencies_are_allowed_by_cargo_deny() {
        let installed =
            Command::new(env!("CARGO")).args(["deny", "--version"]).output().expect("cargo starts");
        if !installed.status.success() {
            println!("skipped: cargo-deny is not installed (`cargo install cargo-deny --locked`)");
            return;
        }
        // Apart, so that a database that cannot be fetched skips advisories only.
        for checks in [&["licenses", "bans", "sources"][..], &["advisories"]] {
            let checked = Command::new(env!("CARGO"))
                .args(["deny", "check"])
                .args(checks)
                .current_dir(crate::root())
                .output()
                .expect("cargo deny starts");
            let report = String::from_utf8_lossy(&checked.stderr);
            // It also reads crates of other platforms and features, which no build has fetched, and the RustSec database.
            let unfetched = ["failed to fetch crates", "failed to fetch advisory database"];
            if unfetched.iter().any(|message| report.contains(message)) {
                println!("skipped: cargo deny check {} (cannot fetch what it needs)", checks.join(" "));
                continue;
            }
            assert!(checked.status.success(), "cargo deny check {}:\n{report}", checks.join(" "));
        }
    }

    /// Only in the long tests: actionlint is built first.
    #[test]
    fn the_workflows_are_valid() {
        if std::env::var_os("PLIMSOLL_WHOLE").is_none() {
            return;
        }
        let checked = testkit::ReleaseTool::Actionlint.command().current_dir(crate::root()).output();
        let checked = checked.expect("actionlint starts");
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    }
}
