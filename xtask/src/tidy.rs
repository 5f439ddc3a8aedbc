//! What no compiler checks: the shape of the workspace, its files, its messages and its manifests.
//!
//! Every check returns sentences that say what is wrong and where; `cargo test` and `cargo xtask tidy` run them all.

mod dependencies;
mod files;
mod hints;
mod layers;

use anyhow::{Result, bail};

/// Runs every check and fails with all findings at once.
#[expect(clippy::print_stdout, reason = "a task reports to whoever called it")]
pub(crate) fn run() -> Result<()> {
    let findings = findings()?;
    if !findings.is_empty() {
        bail!("{} findings:\n- {}", findings.len(), findings.join("\n- "));
    }
    println!("tidy: layers, files, hints and manifests are as they should be");
    Ok(())
}

fn findings() -> Result<Vec<String>> {
    let root = crate::root();
    let mut findings = layers::check(&root)?;
    findings.extend(files::check(&root)?);
    findings.extend(hints::check(&root)?);
    findings.extend(dependencies::check(&root)?);
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
    fn licences_and_versions_are_as_denied_and_allowed() {
        let installed =
            Command::new(env!("CARGO")).args(["deny", "--version"]).output().expect("cargo starts");
        if !installed.status.success() {
            println!("skipped: cargo-deny is not installed (`cargo install cargo-deny --locked`)");
            return;
        }
        let checked = Command::new(env!("CARGO"))
            .args(["deny", "check", "licenses", "bans", "sources"])
            .current_dir(crate::root())
            .output()
            .expect("cargo deny starts");
        let said = String::from_utf8_lossy(&checked.stderr);
        // It looks at crates of other platforms and features, too, which no build has fetched.
        if said.contains("failed to fetch crates") {
            println!("skipped: cargo-deny needs crates that cannot be fetched now");
            return;
        }
        assert!(checked.status.success(), "{said}");
    }
}
