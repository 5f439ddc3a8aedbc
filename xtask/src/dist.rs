//! A release: the command line tool, the control plane of its sandbox, the Terraform provider, a container image, the chart and the
//! manifests, with a bill of materials, checksums and their signature. Archives of the same files have the same bytes. What this machine cannot make is left out, and a
//! line says why.

pub(crate) mod cargo_build;
mod checksums;
mod command_line;
mod control_plane;
mod image;
mod krew;
mod linux;
mod manifests;
mod provider;
mod sbom;
mod tarball;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use cargo_build::{PLATFORMS, Platform};

/// What to release, and where to put it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder to write to
    #[arg(long, default_value = "target/dist-files")]
    out: PathBuf,
    /// The profile to build with; only `dist` is for others
    #[arg(long, default_value = "dist")]
    profile: String,
    /// Only this platform, such as `linux_amd64`; can be repeated
    #[arg(long)]
    platform: Vec<String>,
    /// Where the files will be downloaded from, for the manifest of krew
    #[arg(long)]
    url: Option<String>,
    /// Where the image will be pulled from, without a tag, such as `ghcr.io/OWNER/plimsoll`: the default of the command line tool,
    /// the chart and the kustomization
    #[arg(long)]
    image: Option<String>,
    /// Make no bill of materials, which needs cargo-cyclonedx
    #[arg(long)]
    without_sbom: bool,
}

/// What every file of a release is made from.
struct Release {
    root: PathBuf,
    /// Where cargo builds.
    target: PathBuf,
    /// Where the image will be pulled from, if that is known.
    image: Option<String>,
    out: PathBuf,
    version: String,
    /// Of every file in every archive, in seconds since 1970.
    time: u64,
    revision: String,
}

pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let target = root.join(std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned()));
    make(root, &target, arguments)
}

fn make(root: &Path, target: &Path, arguments: &Arguments) -> Result<()> {
    // Before anything is built, which takes long.
    ensure!(arguments.without_sbom || sbom::is_possible(), sbom::ADVICE);
    let out = root.join(&arguments.out);
    if out.exists() {
        fs::remove_dir_all(&out).with_context(|| format!("emptying {}", out.display()))?;
    }
    fs::create_dir_all(&out).with_context(|| format!("creating {}", out.display()))?;
    let revision =
        output(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root)).unwrap_or_default();
    let release = Release {
        time: commit_time(root),
        revision: revision.trim().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        root: root.to_owned(),
        target: target.to_owned(),
        image: arguments.image.clone(),
        out,
    };
    let host = cargo_build::host()?;
    say(&format!(
        "building plimsoll {} with the profile {}, which takes about 12 minutes for each platform on two cores",
        release.version, arguments.profile
    ));
    let (mut files, mut packages, mut archives) = (Vec::new(), Vec::new(), Vec::new());
    let is_wanted = |platform: &&Platform| {
        arguments.platform.is_empty() || arguments.platform.iter().any(|name| name == platform.registry)
    };
    for platform in PLATFORMS.iter().filter(is_wanted) {
        if let Some(why) = cargo_build::obstacle(platform.target, &host) {
            say(&format!("left out: {} ({why})", platform.registry));
            continue;
        }
        let programs = cargo_build::build(&release, platform, &host, &arguments.profile)?;
        packages.push(provider::package(&release, platform, &programs)?);
        let is_native = platform.target == host;
        let archive = command_line::archive(&release, platform, &programs, is_native)?;
        archives.push((platform, archive.clone()));
        files.push(archive);
        files.extend(control_plane::archive(&release, platform)?);
        if is_native && platform.registry.starts_with("linux_") {
            files.push(image::write(&release, platform, &programs)?);
        } else {
            say(&format!("left out: the image for {} (it is made on such a machine)", platform.registry));
        }
    }
    let sums = provider::finish(&release, &packages)?;
    files.extend(packages);
    files.extend(manifests::write(&release)?);
    if arguments.without_sbom {
        say("left out: the bill of materials (--without-sbom)");
    } else {
        files.extend(sbom::write(&release)?);
    }
    if let Some(url) = &arguments.url {
        files.push(krew::write(&release, url, &archives)?);
    }
    checksums::sign(&sums)?;
    let all = release.out.join("SHA256SUMS");
    fs::write(&all, checksums::of(&files)?).context("writing the checksums")?;
    checksums::sign(&all)?;
    for file in files.iter().chain([&sums, &all]) {
        let size = fs::metadata(file).with_context(|| format!("reading {}", file.display()))?.len();
        say(&format!("wrote {} ({size} bytes)", file.display()));
    }
    Ok(())
}

/// The time of the commit, or that which the environment asks for (<https://reproducible-builds.org/specs/source-date-epoch/>).
fn commit_time(root: &Path) -> u64 {
    let asked = std::env::var("SOURCE_DATE_EPOCH").ok();
    let committed = || output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root)).ok();
    asked.or_else(committed).and_then(|time| time.trim().parse().ok()).unwrap_or_default()
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
mod released;
