//! Derives the descriptions of kinds at Oracle Cloud from Oracle's Python SDK, which Python itself reads best.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The version that the committed descriptions are derived from.
const SDK: &str = "oci==2.189.0";

/// Derives the descriptions from the package in `sdk`, or from one that pip downloads.
pub(crate) fn run(root: &Path, sdk: Option<PathBuf>) -> Result<()> {
    let sdk = match sdk {
        Some(sdk) => sdk,
        None => download(&root.join("target/oci-sdk"))?,
    };
    derive(root, &sdk, &root.join("crates/oraclecloud/kinds"))
}

fn download(folder: &Path) -> Result<PathBuf> {
    python(
        Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
            .arg(folder)
            .arg(SDK),
    )?;
    Ok(folder.join("oci"))
}

fn derive(root: &Path, sdk: &Path, out: &Path) -> Result<()> {
    let tools = root.join("xtask/kinds");
    let mut command = Command::new("python3");
    python(command.arg(tools.join("derive.py")).arg(sdk).arg(tools.join("review.json")).arg(out))
}

fn python(command: &mut Command) -> Result<()> {
    let output = command.output().context("starting python3")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The slice is made for this test; it has work requests, secrets, several types, a recursion and an unknown state.
    #[test]
    fn a_small_package_is_derived_as_reviewed() {
        let root = crate::root();
        let temporary = tempfile::tempdir().expect("a temporary folder");
        let out = temporary.path().join("kinds");
        fs::create_dir(&out).expect("a folder in it");
        derive(&root, &root.join("xtask/kinds/slice"), &out).expect("the slice is derived");
        let derived = fs::read_to_string(out.join("gadget.json")).expect("the derived file");
        let reviewed = fs::read_to_string(root.join("xtask/kinds/slice.json")).expect("the reviewed file");
        assert_eq!(derived, reviewed);
        let listed = fs::read_to_string(temporary.path().join("not-derivable.md")).expect("the list");
        assert!(listed.contains("| `gadget/Widget` | the SDK has no update |"), "{listed}");
    }
}
