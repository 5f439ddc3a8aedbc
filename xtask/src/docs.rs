//! The pages of the Terraform registry in `docs/`, made from the provider's schemas.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Regenerates every page. A test of the provider fails while they are stale.
pub(crate) fn run(root: &Path) -> Result<()> {
    let folder = root.join("docs");
    if folder.exists() {
        // Pages of resources that no longer exist go too.
        fs::remove_dir_all(&folder).context("removing docs/")?;
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args([
        "run",
        "--quiet",
        "--package",
        "provider",
        "--example",
        "registry-docs",
        "--",
    ]);
    let written = cargo.arg(&folder).status().context("running cargo")?;
    ensure!(written.success(), "the pages were not written");
    Ok(())
}
