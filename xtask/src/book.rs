//! The pages of the book that are generated from the code: commands, kinds, cloud kinds and diagnostics.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The pages; a test of the crate `cli` checks that they are fresh.
const PAGES: [&str; 4] = ["cli", "kinds", "cloud-kinds", "diagnostics"];

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
