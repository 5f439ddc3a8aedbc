//! The command line tool and the provider for systems other than this one: whether they compile, without warnings.

use std::path::Path;

use anyhow::{Context, ensure};

use crate::dist::cargo_build::{PLATFORMS, cargo, host, obstacle};

/// Checks every platform that this machine has a toolchain for, and this one without the sandbox.
#[expect(clippy::print_stdout, reason = "a task reports to its caller")]
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let host = host()?;
    check(root, &host, &host, &["--no-default-features"])?;
    for platform in PLATFORMS.iter().filter(|platform| platform.target != host) {
        match obstacle(platform.target, &host) {
            Some(why) => println!("left out: {} ({why})", platform.registry),
            None => check(root, platform.target, &host, &[])?,
        }
    }
    Ok(())
}

fn check(root: &Path, target: &str, host: &str, features: &[&str]) -> anyhow::Result<()> {
    let mut cargo = cargo("clippy", target, host);
    cargo.args(["--package", "cli", "--package", "provider", "--bins"]).args(features);
    let status = cargo.args(["--", "-D", "warnings"]).current_dir(root).status().context("running cargo")?;
    ensure!(status.success(), "plimsoll does not compile for {target} {}", features.join(" "));
    Ok(())
}
