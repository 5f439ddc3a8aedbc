//! The bill of materials, in CycloneDX, by its own tool for Cargo: which crates are in a release, in which versions, under which licences.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Release, output, say};

/// One file for each program; none if the tool is not installed.
pub(super) fn write(release: &Release) -> Result<Vec<PathBuf>> {
    if output(Command::new(env!("CARGO")).args(["cyclonedx", "--version"])).is_err() {
        say("left out: the bill of materials (run `cargo install --locked cargo-cyclonedx`)");
        return Ok(Vec::new());
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["cyclonedx", "--format", "json", "--describe", "binaries", "--spec-version", "1.5", "--all"]);
    // With a time of its own, the tool leaves out the random serial number.
    cargo.env("SOURCE_DATE_EPOCH", release.time.to_string()).env("CARGO_NET_OFFLINE", "true");
    ensure!(
        cargo.current_dir(&release.root).status().context("running cargo cyclonedx")?.success(),
        "there is no bill of materials"
    );
    let mut files = Vec::new();
    for (krate, program) in [("cli", "plimsoll"), ("provider", super::provider::NAME)] {
        let to = release.out.join(format!("{program}_{}.cdx.json", release.version));
        let from = release.root.join(format!("crates/{krate}/{program}_bin.cdx.json"));
        fs::copy(&from, &to).with_context(|| format!("reading {}", from.display()))?;
        files.push(to);
    }
    clean(release)?;
    Ok(files)
}

/// Removes what the tool leaves beside each manifest.
fn clean(release: &Release) -> Result<()> {
    let krates = fs::read_dir(release.root.join("crates")).context("reading crates")?;
    let folders = krates.map(|krate| Ok(krate?.path())).collect::<Result<Vec<_>>>()?;
    for folder in folders.into_iter().chain(["bench", "xtask"].map(|name| release.root.join(name))) {
        for file in fs::read_dir(folder)? {
            let path = file?.path();
            if path.to_string_lossy().ends_with(".cdx.json") {
                fs::remove_file(path)?;
            }
        }
    }
    Ok(())
}
