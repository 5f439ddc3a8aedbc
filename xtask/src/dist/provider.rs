//! The provider as the Terraform registry wants it: a zip for each platform, a manifest, and checksums of both.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::cargo_build::{Platform, Programs};
use super::{Release, checksums};

pub(super) const NAME: &str = "terraform-provider-k8sconnect";

pub(super) fn package(release: &Release, platform: &Platform, programs: &Programs) -> Result<PathBuf> {
    let version = &release.version;
    let archive = release.out.join(format!("{NAME}_{version}_{}.zip", platform.registry));
    pack(&programs.provider, &format!("{NAME}_v{version}{}", platform.suffix()), &archive)?;
    Ok(archive)
}

/// Adds the manifest to `packages`, and returns the file with their checksums.
pub(super) fn finish(release: &Release, packages: &[PathBuf]) -> Result<PathBuf> {
    let named = |end: &str| release.out.join(format!("{NAME}_{}_{end}", release.version));
    let manifest = named("manifest.json");
    fs::copy(release.root.join("terraform-registry-manifest.json"), &manifest)
        .context("copying the manifest")?;
    let sums = named("SHA256SUMS");
    fs::write(&sums, checksums::of(&[packages, &[manifest]].concat())?).context("writing the checksums")?;
    Ok(sums)
}

/// Packs one program under the name by which Terraform looks for it.
fn pack(program: &Path, name: &str, archive: &Path) -> Result<()> {
    let mut source = File::open(program).with_context(|| format!("opening {}", program.display()))?;
    let mut zip =
        ZipWriter::new(File::create(archive).with_context(|| format!("creating {}", archive.display()))?);
    // Without a time of its own, the same program gives the same archive.
    zip.start_file(name, SimpleFileOptions::default().unix_permissions(0o755))?;
    io::copy(&mut source, &mut zip)?;
    zip.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn an_archive_has_the_program_under_the_name_terraform_looks_for() {
        let folder = tempfile::tempdir().unwrap();
        let (program, archive) = (folder.path().join("program"), folder.path().join("a.zip"));
        fs::write(&program, "#!/bin/sh\n").unwrap();
        pack(&program, "terraform-provider-k8sconnect_v1.2.3", &archive).unwrap();
        let first = fs::read(&archive).unwrap();
        pack(&program, "terraform-provider-k8sconnect_v1.2.3", &archive).unwrap();
        assert_eq!(fs::read(&archive).unwrap(), first, "the same program gives the same archive");
        let mut zip = zip::ZipArchive::new(File::open(&archive).unwrap()).unwrap();
        let mut entry = zip.by_index(0).unwrap();
        assert_eq!(entry.name(), "terraform-provider-k8sconnect_v1.2.3");
        assert_eq!(entry.unix_mode().unwrap() & 0o777, 0o755);
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        assert_eq!(text, "#!/bin/sh\n");
    }
}
