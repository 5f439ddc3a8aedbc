//! The control plane of the sandbox: with its archive unpacked beside that of `plimsoll`, a sandbox needs no Go.

use std::path::PathBuf;

use anyhow::{Context, Result};
use sandbox::CONTROL_PLANE;
use sandbox::gobuild::Error;

use super::cargo_build::Platform;
use super::tarball::Files;
use super::{Release, say};

/// The archive; none where there is no sandbox, or if this machine cannot build it.
pub(super) fn archive(release: &Release, platform: &Platform) -> Result<Option<PathBuf>> {
    let Some(architecture) = platform.registry.strip_prefix("linux_") else { return Ok(None) };
    say(&format!("building the control plane for {} with Go, which takes some minutes", platform.registry));
    let built = tempfile::tempdir().context("creating a folder for the control plane")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    match CONTROL_PLANE.export(&path, architecture, built.path()) {
        Ok(()) => {}
        Err(Error::NoGo { .. }) => {
            say(&format!("left out: the control plane for {} (there is no `go`)", platform.registry));
            return Ok(None);
        }
        Err(Error::Failed { output, .. }) => anyhow::bail!(
            "go does not build the control plane; a release is made offline, so run `go mod download` in tools/control-plane \
             first:\n{}",
            output.join("\n")
        ),
        Err(error) => return Err(error.into()),
    }
    // Where the archive of `plimsoll` has the program, which looks for it there.
    let folder = format!("plimsoll_{}_{}/control-plane", release.version, platform.registry);
    let mut files = Files::default();
    for binary in CONTROL_PLANE.binaries {
        files.program(&format!("{folder}/{}", binary.file), &built.path().join(binary.file));
        for link in binary.links {
            files.link(&format!("{folder}/{link}"), binary.file);
        }
    }
    files.copy(&format!("{folder}/sources"), &built.path().join("sources"));
    // Which modules are in it, and in which versions.
    for (name, content) in CONTROL_PLANE.files.iter().filter(|(name, _)| name.starts_with("go.")) {
        files.text(&format!("{folder}/{name}"), *content);
    }
    files.copy(&format!("{folder}/LICENSE"), &release.root.join("LICENSE"));
    let name = format!("plimsoll-control-plane_{}_{}.tar.gz", release.version, platform.registry);
    let archive = release.out.join(name);
    files.write_gz(&archive, release.time)?;
    Ok(Some(archive))
}
