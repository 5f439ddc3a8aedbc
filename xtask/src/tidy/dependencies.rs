//! Dependencies: each has a line of reason in the root manifest, and names the features it uses instead of taking the defaults.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).context("reading Cargo.toml")?;
    let mut findings = without_reason(&manifest);
    findings.extend(with_default_features(&manifest));
    Ok(findings)
}

fn section(manifest: &str) -> impl Iterator<Item = &str> {
    let section = manifest.lines().skip_while(|line| *line != "[workspace.dependencies]").skip(1);
    section.take_while(|line| !line.starts_with('['))
}

/// The name and the rest of a line that names an outside dependency.
fn outside(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
    (!value.contains("path =")).then_some((name.trim(), value))
}

fn with_default_features(manifest: &str) -> Vec<String> {
    section(manifest)
        .filter_map(outside)
        .filter(|(_, value)| !value.contains("default-features = false"))
        .map(|(name, _)| {
            format!("Cargo.toml: dependency {name} brings its default features: name those we use")
        })
        .collect()
}

/// The outside dependencies that neither stand below a comment nor follow one that does without a blank line between
/// (a family such as hyper and hyper-util shares its reason).
fn without_reason(manifest: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut explained = false;
    for line in section(manifest) {
        if line.trim().is_empty() || line.starts_with("# ──") {
            explained = false;
        } else if line.starts_with('#') {
            explained = true;
        } else if let Some((name, _)) = outside(line)
            && !explained
        {
            findings.push(format!("Cargo.toml: dependency {name} has no line that says why we use it"));
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
