//! Dependencies: each has one line of reason in the root manifest, and none brings its default features unasked.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).context("reading Cargo.toml")?;
    Ok(without_reason(&manifest))
}

/// The outside dependencies that neither stand below a comment nor follow one that does without a blank line between
/// (a family such as hyper and hyper-util shares its reason).
fn without_reason(manifest: &str) -> Vec<String> {
    let section = manifest
        .lines()
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['));
    let mut findings = Vec::new();
    let mut explained = false;
    for line in section {
        if line.trim().is_empty() || line.starts_with("# ──") {
            explained = false;
        } else if line.starts_with('#') {
            explained = true;
        } else if let Some((name, value)) = line.split_once('=')
            && !value.contains("path =")
            && !explained
        {
            findings
                .push(format!("Cargo.toml: dependency {} has no line that says why we use it", name.trim()));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_needs_a_comment_above_it_or_above_its_family() {
        let manifest = "[workspace.dependencies]\nours = { path = \"x\" }\n\n# because\na = \"1\"\nb = \"1\"\n\nc = \"1\"\n[profile.dev]\nd = 1\n";
        assert_eq!(
            without_reason(manifest),
            ["Cargo.toml: dependency c has no line that says why we use it"]
        );
    }
}
