//! The programs of a release, built for every platform that this machine has a toolchain for.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Release, is_installed, linux, output};

/// A platform that the Terraform registry knows.
pub(crate) struct Platform {
    /// As Rust calls it.
    pub(crate) target: &'static str,
    /// As Go, and so the registry, calls it.
    pub(crate) registry: &'static str,
}

pub(crate) const PLATFORMS: &[Platform] = &[
    Platform { target: "x86_64-unknown-linux-gnu", registry: "linux_amd64" },
    Platform { target: "aarch64-unknown-linux-gnu", registry: "linux_arm64" },
    Platform { target: "x86_64-apple-darwin", registry: "darwin_amd64" },
    Platform { target: "aarch64-apple-darwin", registry: "darwin_arm64" },
    Platform { target: "x86_64-pc-windows-gnu", registry: "windows_amd64" },
];

impl Platform {
    pub(super) fn suffix(&self) -> &'static str {
        if self.target.contains("windows") { ".exe" } else { "" }
    }
}

pub(super) struct Programs {
    pub(super) plimsoll: PathBuf,
    pub(super) provider: PathBuf,
}

/// This machine, as Rust calls it.
pub(crate) fn host() -> Result<String> {
    let printed = output(Command::new("rustc").arg("-vV"))?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc has a host")?;
    let host = host.trim().to_owned();
    let is_known = PLATFORMS.iter().any(|platform| platform.target == host);
    ensure!(is_known, "the registry has no name for this machine, {host}");
    Ok(host)
}

/// Why this machine cannot build for `target`.
pub(crate) fn obstacle(target: &str, host: &str) -> Option<String> {
    if target == host {
        return None;
    }
    let installed =
        output(Command::new("rustup").args(["target", "list", "--installed"])).unwrap_or_default();
    if !installed.lines().any(|line| line.trim() == target) {
        return Some(format!("the target {target} is not installed"));
    }
    // Apple's linker exists only on Apple's machines.
    let foreign = target.ends_with("apple-darwin") && !host.ends_with("apple-darwin");
    (foreign || !is_installed(linker(target))).then(|| format!("there is no linker for {target}"))
}

/// The C compiler that links for `target` on another machine.
fn linker(target: &str) -> &'static str {
    match target {
        "aarch64-unknown-linux-gnu" => "aarch64-linux-gnu-gcc",
        "x86_64-pc-windows-gnu" => "x86_64-w64-mingw32-gcc",
        _ => "cc",
    }
}

/// A command of cargo for `target`.
pub(crate) fn cargo(task: &str, target: &str, host: &str) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([task, "--locked", "--offline"]);
    if target != host {
        let variable = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
        cargo.args(["--target", target]).env(variable, linker(target));
    }
    cargo
}

pub(super) fn build(release: &Release, platform: &Platform, host: &str, profile: &str) -> Result<Programs> {
    let root = &release.root;
    let mut cargo = cargo("build", platform.target, host);
    cargo.current_dir(root).args(["--profile", profile]);
    if platform.target == host {
        // Named as well, or build scripts and macros would get the flags of programs.
        cargo.args(["--target", host]);
    }
    cargo.args(["--package", "cli", "--package", "provider", "--bins"]);
    if let Some(image) = &release.image {
        // What `plimsoll install` installs by default.
        cargo.env("PLIMSOLL_IMAGE", format!("{image}:{}", release.version));
    }
    // The same bytes wherever the checkout, the target folder and cargo's folder are.
    let home = std::env::var("CARGO_HOME")
        .map_or_else(|_| std::env::home_dir().unwrap_or_default().join(".cargo"), PathBuf::from);
    let compiler = if platform.target == host { "cc" } else { linker(platform.target) };
    let mut flags = linux::flags(platform.target, compiler, &release.target)?;
    let remap = |from: &std::path::Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    // The last prefix that fits counts, and the target folder may be in the checkout.
    flags.extend([remap(root, "/plimsoll"), remap(&home, "/cargo"), remap(&release.target, "/target")]);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")).env("CARGO_TARGET_DIR", &release.target);
    ensure!(cargo.status().context("running cargo")?.success(), "{} does not build", platform.target);
    let folder = release.target.join(platform.target).join(if profile == "dev" { "debug" } else { profile });
    let program = |name: &str| folder.join(format!("{name}{}", platform.suffix()));
    Ok(Programs { plimsoll: program("plimsoll"), provider: program(super::provider::NAME) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_the_locked_dependencies() {
        let check = |task: &str, target: &str| {
            let command = cargo(task, target, "x86_64-unknown-linux-gnu");
            let arguments: Vec<_> = command.get_args().collect();
            assert!(arguments.starts_with(&[task.as_ref(), "--locked".as_ref()]), "{arguments:?}");
        };
        check("build", "x86_64-unknown-linux-gnu");
        check("build", "aarch64-unknown-linux-gnu");
    }

    #[test]
    fn what_cannot_be_built_here_says_why() {
        let why = |target| obstacle(target, "x86_64-unknown-linux-gnu");
        assert_eq!(why("x86_64-unknown-linux-gnu"), None);
        assert!(why("aarch64-apple-darwin").is_some_and(|why| why.contains("aarch64-apple-darwin")));
    }
}
