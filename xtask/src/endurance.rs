//! The tests that take minutes, made as a whole: `cargo test` makes a part of each.

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

/// What can be made as a whole.
#[derive(Clone, Copy)]
pub(crate) enum Test {
    /// The operator, killed at every request of its work, or one half of it; and the API server, while claims come and go.
    CrashMatrix(Option<Half>),
    /// Many objects in bad weather.
    Soak,
    /// Many objects that nothing happens to.
    Idle,
}

/// All of them, the cheapest first.
pub(crate) const ALL: [Test; 3] = [Test::CrashMatrix(None), Test::Soak, Test::Idle];

impl Test {
    /// The test programs of the operator, and the beginning of the names of the tests.
    const fn places(self) -> &'static [(&'static str, &'static str)] {
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

/// Makes a test as a whole, in a release build if asked to, which is what figures are taken from.
pub(crate) fn run(root: &Path, test: Test, release: bool) -> anyhow::Result<()> {
    let profile: &[&str] = if release { &["--release"] } else { &[] };
    // The program under test is a file that tests find beside their own.
    cargo(root, &[&["build", "--package", "cli"], profile].concat())?;
    for (program, tests) in test.places() {
        let arguments = ["test", "--package", "operator", "--test", program];
        // One after the other, so that what one measures is not the others.
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
        .context("cargo does not start")?;
    ensure!(status.success(), "cargo {} failed", arguments.join(" "));
    Ok(())
}
