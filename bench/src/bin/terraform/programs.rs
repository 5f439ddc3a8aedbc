//! The programs that are compared: ours from cargo, the peer from its Go module.

use std::env;
use std::error::Error;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use sandbox::Environment;
use sandbox::gobuild::{Binary, BuildEvent, Module};

/// A program of this workspace.
#[derive(Clone, Copy)]
pub(crate) enum Program<'a> {
    Bin(&'a str),
    Example(&'a str),
}

/// Builds a program of this workspace, in the profile of this one, and says where it is.
pub(crate) fn cargo(package: &str, program: Program<'_>) -> Result<PathBuf, Box<dyn Error>> {
    let this = env::current_exe()?;
    let folder = this.parent().ok_or("a program without a folder")?;
    let target = folder.parent().ok_or("cargo names a folder after the profile")?;
    let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let (kind, name, built) = match program {
        Program::Bin(name) => ("--bin", name, folder.join(name)),
        Program::Example(name) => ("--example", name, folder.join("examples").join(name)),
    };
    build.args(["build", "--quiet", "--package", package, kind, name, "--target-dir"]).arg(target);
    // The folder of the profile `dev` is called `debug`.
    if let Some(profile) = folder.file_name().filter(|profile| *profile != "debug") {
        build.arg("--profile").arg(profile);
    }
    let status = build.current_dir(env!("CARGO_MANIFEST_DIR")).status()?;
    if !status.success() {
        return Err(format!("{name} does not build").into());
    }
    Ok(built)
}

/// The peer, built once and kept in the cache.
pub(crate) fn yardstick() -> Result<PathBuf, Box<dyn Error>> {
    const FILE: &str = "terraform-provider-kubectl";
    let module = Module {
        name: "kubectl-provider",
        files: &[
            ("go.mod", include_str!("../../../../tools/kubectl-provider/go.mod")),
            ("go.sum", include_str!("../../../../tools/kubectl-provider/go.sum")),
        ],
        binaries: &[Binary {
            package: "github.com/gavinbunney/terraform-provider-kubectl",
            file: FILE,
            links: &[],
        }],
        ldflags: "",
        cold_build: Duration::from_secs(420),
    };
    let environment = Environment::from_process()?;
    let folder = module.ensure(&environment.cache, &environment.path, &mut |event| {
        if let BuildEvent::Started { estimate, .. } = event {
            let minutes = estimate.as_secs() / 60;
            // The line is informative only; figures go to standard output.
            let _ignored =
                writeln!(io::stderr(), "building the peer, which takes up to {minutes} minutes, once");
        }
    })?;
    Ok(folder.join(FILE))
}
