//! A release of the provider in the layout the Terraform registry expects: a zip for each platform, checksums, their
//! signature, and the manifest. What this machine cannot build is left out, and a line says why.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const NAME: &str = "terraform-provider-k8sconnect";

/// A platform that the registry knows.
struct Platform {
    /// As Rust calls it.
    target: &'static str,
    /// As Go, and so the registry, calls it.
    registry: &'static str,
}

const PLATFORMS: &[Platform] = &[
    Platform { target: "x86_64-unknown-linux-gnu", registry: "linux_amd64" },
    Platform { target: "aarch64-unknown-linux-gnu", registry: "linux_arm64" },
    Platform { target: "x86_64-apple-darwin", registry: "darwin_amd64" },
    Platform { target: "aarch64-apple-darwin", registry: "darwin_arm64" },
    Platform { target: "x86_64-pc-windows-gnu", registry: "windows_amd64" },
];

pub(crate) fn run(root: &Path, version: &str, out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("creating {}", out.display()))?;
    let host = output(Command::new("rustc").arg("-vV"))?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc has a host")?;
    let host = host.trim().to_owned();
    ensure!(
        PLATFORMS.iter().any(|platform| platform.target == host),
        "the registry has no name for this machine, {host}"
    );
    let mut files = Vec::new();
    for platform in PLATFORMS {
        match obstacle(platform.target, &host) {
            Some(why) => say(&format!("left out: {} ({why})", platform.registry)),
            None => files.push(package(root, version, out, platform, &host)?),
        }
    }
    let manifest = out.join(format!("{NAME}_{version}_manifest.json"));
    fs::copy(root.join("terraform-registry-manifest.json"), &manifest).context("copying the manifest")?;
    files.push(manifest);
    let sums = out.join(format!("{NAME}_{version}_SHA256SUMS"));
    fs::write(&sums, checksums(&files)?).context("writing the checksums")?;
    say(&format!("wrote {}", sums.display()));
    sign(&sums)
}

/// Why this machine cannot build for `target`.
fn obstacle(target: &str, host: &str) -> Option<String> {
    if target == host {
        return None;
    }
    let installed =
        output(Command::new("rustup").args(["target", "list", "--installed"])).unwrap_or_default();
    if !installed.lines().any(|line| line.trim() == target) {
        return Some(format!("the target {target} is not installed"));
    }
    let linker = match target {
        "aarch64-unknown-linux-gnu" => "aarch64-linux-gnu-gcc",
        "x86_64-pc-windows-gnu" => "x86_64-w64-mingw32-gcc",
        _ => "cc",
    };
    // Apple's linker exists only on Apple's machines.
    let foreign = target.ends_with("apple-darwin") && !host.ends_with("apple-darwin");
    (foreign || !is_installed(linker)).then(|| format!("there is no linker for {target}"))
}

fn package(root: &Path, version: &str, out: &Path, platform: &Platform, host: &str) -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args(["build", "--release", "--locked", "--package", "provider", "--bin", NAME]);
    let mut folder = root.join(std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned()));
    if platform.target != host {
        cargo.args(["--target", platform.target]);
        folder.push(platform.target);
    }
    ensure!(cargo.status().context("running cargo")?.success(), "{} does not build", platform.target);
    let suffix = if platform.target.contains("windows") { ".exe" } else { "" };
    let program = folder.join("release").join(format!("{NAME}{suffix}"));
    let archive = out.join(format!("{NAME}_{version}_{}.zip", platform.registry));
    pack(&program, &format!("{NAME}_v{version}{suffix}"), &archive)?;
    say(&format!("wrote {}", archive.display()));
    Ok(archive)
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

/// Lines as `sha256sum` writes them.
fn checksums(files: &[PathBuf]) -> Result<String> {
    let mut lines = String::new();
    for file in files {
        let digest = Sha256::digest(fs::read(file).with_context(|| format!("reading {}", file.display()))?);
        let name = file.file_name().context("a file has a name")?.to_string_lossy();
        writeln!(lines, "{digest:x}  {name}")?;
    }
    Ok(lines)
}

/// Signs the checksums, if there is a key to do it with.
fn sign(sums: &Path) -> Result<()> {
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
    let signed = gpg.args(["--batch", "--yes", "--detach-sign"]).arg(sums).status().context("running gpg")?;
    ensure!(signed.success(), "the checksums were not signed");
    say(&format!("wrote {}.sig", sums.display()));
    Ok(())
}

fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("running {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[expect(clippy::print_stdout, reason = "the task reports what it made and what it left out")]
fn say(line: &str) {
    println!("{line}");
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

    #[test]
    fn checksums_read_like_those_of_sha256sum() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.zip");
        fs::write(&file, "").unwrap();
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(checksums(&[file]).unwrap(), format!("{empty}  a.zip\n"));
    }

    #[test]
    fn what_cannot_be_built_here_says_why() {
        let why = |target| obstacle(target, "x86_64-unknown-linux-gnu");
        assert_eq!(why("x86_64-unknown-linux-gnu"), None);
        assert!(why("aarch64-apple-darwin").is_some_and(|why| why.contains("aarch64-apple-darwin")));
    }
}
