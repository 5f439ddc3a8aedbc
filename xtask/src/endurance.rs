//! The long tests, run in full: `cargo test` runs a sample of each.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

/// A half of the operator.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Half {
    /// Resources at Oracle Cloud
    Oci,
    /// XRDs, Compositions and claims
    Composition,
}

/// A test that `cargo test` only samples.
#[derive(Clone, Copy)]
pub(crate) enum Test {
    /// The operator, or one half of it, killed at every request it makes; and the API server, killed while claims come and go.
    CrashMatrix(Option<Half>),
    /// Many objects under faults.
    Soak,
    Idle,
}

/// The cheapest first.
pub(crate) const ALL: [Test; 3] = [Test::CrashMatrix(None), Test::Soak, Test::Idle];

impl Test {
    /// The operator's test targets, and the prefix of the tests in each.
    const fn targets(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::CrashMatrix(None) => {
                &[("endurance", "matrix::"), ("composition", "crash::"), ("composition", "churn::")]
            }
            Self::CrashMatrix(Some(Half::Oci)) => &[("endurance", "matrix::")],
            Self::CrashMatrix(Some(Half::Composition)) => {
                &[("composition", "crash::"), ("composition", "churn::")]
            }
            Self::Soak => &[("endurance", "soak::")],
            Self::Idle => &[("endurance", "idle::")],
        }
    }
}

/// Runs a test in full. Published figures come from release builds.
pub(crate) fn run(root: &Path, test: Test, release: bool) -> anyhow::Result<()> {
    let profile: &[&str] = if release { &["--release"] } else { &[] };
    // Tests find the program under test beside their own binary.
    cargo(root, &[&["build", "--package", "cli"], profile].concat())?;
    for (program, tests) in test.targets() {
        let arguments = ["test", "--package", "operator", "--test", program];
        // One at a time, so that tests do not disturb each other's measurements.
        cargo(root, &[&arguments, profile, &["--", "--nocapture", "--test-threads=1", tests]].concat())?;
    }
    Ok(())
}

fn cargo(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(arguments)
        .current_dir(root)
        .env("PLIMSOLL_WHOLE", "1")
        .status()
        .context("starting cargo")?;
    ensure!(status.success(), "cargo {} failed", arguments.join(" "));
    Ok(())
}
