//! The manifest by which krew installs `kubectl plimsoll`.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::Release;
use super::cargo_build::Platform;
use super::checksums::sha256;

/// `url` is the folder that the archives will be downloaded from.
pub(super) fn write(release: &Release, url: &str, archives: &[(&Platform, PathBuf)]) -> Result<PathBuf> {
    let mut entries = Vec::new();
    for (platform, archive) in archives {
        entries.push((*platform, sha256(archive)?));
    }
    let path = release.out.join("krew.yaml");
    fs::write(&path, manifest(&release.version, url, &entries)).context("writing krew.yaml")?;
    Ok(path)
}

fn manifest(version: &str, url: &str, archives: &[(&Platform, String)]) -> String {
    let url = url.trim_end_matches('/');
    let homepage = url.split("/releases/").next().unwrap_or(url);
    let mut text = format!(
        "apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: plimsoll
spec:
  version: v{version}
  homepage: {homepage}
  shortDescription: Plan, apply and explain objects
  description: |
    Shows what an apply would change, field by field, and who holds each field; waits for objects and explains why they
    are not ready; renders compositions; installs and runs the operator behind them.
  platforms:
"
    );
    for (platform, sum) in archives {
        let (system, processor) = platform.registry.split_once('_').unwrap_or((platform.registry, ""));
        let (name, suffix) = (format!("plimsoll_{version}_{}", platform.registry), platform.suffix());
        write!(
            text,
            "    - selector:
        matchLabels:
          os: {system}
          arch: {processor}
      uri: {url}/{name}.tar.gz
      sha256: {sum}
      files:
        - from: {name}/plimsoll{suffix}
          to: .
        - from: {name}/LICENSE
          to: .
      bin: plimsoll{suffix}
"
        )
        .expect("writing to a string does not fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::cargo_build::PLATFORMS;
    use super::*;

    #[test]
    fn the_manifest_names_the_archive_of_each_platform() {
        let archives: Vec<(&Platform, String)> = PLATFORMS.iter().map(|one| (one, "5e".to_owned())).collect();
        let text = manifest("1.2.3", "https://example.org/p/releases/download/v1.2.3/", &archives);
        for line in [
            "  homepage: https://example.org/p\n",
            "      uri: https://example.org/p/releases/download/v1.2.3/plimsoll_1.2.3_linux_arm64.tar.gz\n",
            "        - from: plimsoll_1.2.3_windows_amd64/plimsoll.exe\n",
            "          os: darwin\n          arch: arm64\n",
        ] {
            assert!(text.contains(line), "{line}\nis not in\n{text}");
        }
    }
}
