//! The pages of the book that are made from code: `plimsoll` knows its commands, kinds and codes best.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The pages; a test of the crate `cli` checks that they are fresh.
const PAGES: [&str; 3] = ["cli", "kinds", "diagnostics"];

/// Writes every page anew.
pub(crate) fn run(root: &Path) -> Result<()> {
    for page in PAGES {
        let printed = Command::new(env!("CARGO"))
            .args(["run", "--quiet", "--package", "cli", "--", "reference", page])
            .current_dir(root)
            .output()
            .context("starting plimsoll")?;
        ensure!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
        let path = root.join(format!("book/src/reference/{page}.md"));
        fs::write(&path, printed.stdout).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}
