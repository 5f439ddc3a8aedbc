//! How much production code there is: lines of Rust in `crates/` without comments, blank lines, test files, generated code
//! and examples. Inline test modules count, because tokei cannot tell them apart.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

const ARGUMENTS: &[&str] = &[
    "crates",
    "--types",
    "Rust",
    "--exclude",
    "gen",
    "--exclude",
    "tests",
    "--exclude",
    "tests.rs",
    "--exclude",
    "examples",
    "--output",
    "json",
];

/// Prints the lines of every crate and their sum.
#[expect(clippy::print_stdout, reason = "the table is what the task is for")]
pub(crate) fn run(root: &Path) -> Result<()> {
    let counted = Command::new("tokei")
        .args(ARGUMENTS)
        .current_dir(root)
        .output()
        .context("tokei is not installed: `cargo install tokei --locked`")?;
    ensure!(counted.status.success(), "tokei: {}", String::from_utf8_lossy(&counted.stderr));
    let lines = by_crate(&serde_json::from_slice(&counted.stdout).context("reading tokei's output")?)?;
    for (name, code) in &lines {
        println!("{name:<22}{code:>7}");
    }
    println!("{:<22}{:>7}", "total", lines.values().sum::<u64>());
    Ok(())
}

fn by_crate(counted: &Value) -> Result<BTreeMap<String, u64>> {
    let mut lines = BTreeMap::new();
    for file in counted["Rust"]["reports"].as_array().context("tokei reports no Rust")? {
        let path = file["name"].as_str().context("a report without a name")?;
        let name = path.split('/').skip_while(|part| *part != "crates").nth(1);
        let name = name.with_context(|| format!("{path} lies outside crates/"))?;
        *lines.entry(name.to_owned()).or_default() +=
            file["stats"]["code"].as_u64().context("a report without lines")?;
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_summed_up_by_crate() {
        let report = |name: &str, code: u64| json!({"name": name, "stats": {"code": code}});
        let reports = [
            report("crates/a/src/lib.rs", 3),
            report("crates/b/src/lib.rs", 5),
            report("crates/a/src/c/d.rs", 4),
        ];
        let lines = by_crate(&json!({"Rust": {"reports": reports}})).unwrap();
        assert_eq!(lines, BTreeMap::from([("a".to_owned(), 7), ("b".to_owned(), 5)]));
    }
}
