//! Builds a kustomization with kustomize, or with kubectl.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use diag::{Diagnostic, Source};

use crate::codes;
use crate::support::exit::Failure;

pub(crate) fn build(folder: &Path) -> Result<Source, Failure> {
    for (program, verb) in programs() {
        let output = match Command::new(&program).arg(verb).arg(folder).output() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other,
        };
        return read(folder, &program, output);
    }
    Err(Diagnostic::error(codes::KUSTOMIZE_MISSING, format!("no program to build {}", folder.display()))
        .detail("Neither kustomize nor kubectl is on PATH, and no running sandbox provides kubectl.")
        .hint("Install kustomize or kubectl, or run `plimsoll sandbox up --detach`.")
        .into())
}

/// Programs that may be installed, with their arguments, in order of preference.
fn programs() -> Vec<(PathBuf, &'static str)> {
    let installed = [(PathBuf::from("kustomize"), "build"), (PathBuf::from("kubectl"), "kustomize")];
    installed.into_iter().chain(of_sandboxes().into_iter().map(|kubectl| (kubectl, "kustomize"))).collect()
}

/// The kubectl of each running sandbox.
#[cfg(has_sandbox)]
fn of_sandboxes() -> Vec<PathBuf> {
    let Ok(environment) = sandbox::Environment::from_process() else { return Vec::new() };
    let names = sandbox::list(&environment).unwrap_or_default().into_iter().map(|status| status.name);
    names.map(|name| sandbox::Layout::new(&environment, &name).bin().join("kubectl")).collect()
}

#[cfg(not(has_sandbox))]
fn of_sandboxes() -> Vec<PathBuf> {
    Vec::new()
}

fn read(folder: &Path, program: &Path, output: io::Result<Output>) -> Result<Source, Failure> {
    let name = program.file_name().unwrap_or(OsStr::new("kustomize")).to_string_lossy();
    let failed = |why: String| {
        Diagnostic::error(codes::KUSTOMIZE_FAILED, format!("{name} cannot build {}", folder.display()))
            .detail(why)
    };
    let output = output.map_err(|error| failed(format!("It did not start: {error}.")))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()).into());
    }
    super::decode(&format!("{name} {}", folder.display()), &output.stdout)
}
