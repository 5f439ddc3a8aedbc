//! The checksums of a release, and their signature.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use super::{is_installed, output, say};

/// The SHA-256 of a file, in hexadecimal.
pub(super) fn sha256(file: &Path) -> Result<String> {
    let content = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    Ok(format!("{:x}", Sha256::digest(content)))
}

/// Lines as `sha256sum` writes them, sorted by name.
pub(super) fn of(files: &[PathBuf]) -> Result<String> {
    let name = |file: &PathBuf| file.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut files: Vec<&PathBuf> = files.iter().collect();
    files.sort_by_key(|file| name(file));
    let mut lines = String::new();
    for file in files {
        writeln!(lines, "{}  {}", sha256(file)?, name(file).context("a file has a name")?)?;
    }
    Ok(lines)
}

/// Signs a file, if there is a key to do it with.
pub(super) fn sign(file: &Path) -> Result<()> {
    if !is_installed("gpg") {
        say("left out: the signature (gpg is not installed)");
        return Ok(());
    }
    let keys = output(Command::new("gpg").args(["--batch", "--list-secret-keys", "--with-colons"]));
    if !keys.unwrap_or_default().lines().any(|line| line.starts_with("sec:")) {
        say("left out: the signature (gpg has no secret key)");
        return Ok(());
    }
    let mut gpg = Command::new("gpg");
    let signed = gpg.args(["--batch", "--yes", "--detach-sign"]).arg(file).status().context("running gpg")?;
    ensure!(signed.success(), "{} was not signed", file.display());
    say(&format!("wrote {}.sig", file.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_read_like_those_of_sha256sum() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["b", "a"].map(|name| folder.path().join(name));
        for file in &files {
            fs::write(file, "").unwrap();
        }
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(of(&files).unwrap(), format!("{empty}  a\n{empty}  b\n"));
    }
}
