//! Runs `go` and parses its output.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{BuildEvent, Error, Module, at};

/// Output lines of a failed command to report.
const REPORTED_LINES: usize = 20;

/// How `go` is run.
pub(super) struct Go<'a> {
    pub(super) program: &'a Path,
    /// The processor to build for, without the network; none for this machine.
    pub(super) architecture: Option<&'a str>,
    /// The folder with the files of the module.
    pub(super) sources: &'a Path,
}

/// Builds the binaries of `module` into the folder `built`.
pub(super) fn build(
    module: &Module<'_>,
    go: &Go<'_>,
    built: &Path,
    on_event: &mut dyn FnMut(BuildEvent),
) -> Result<(), Error> {
    let total = count_packages(module, go, on_event)?;
    let mut done = 0;
    let ldflags = format!("-s -w {}", module.ldflags);
    for binary in module.binaries {
        let mut command = go.command();
        command.args(["build", "-v", "-trimpath", "-ldflags", ldflags.trim_end(), "-o"]);
        command.arg(built.join(binary.file)).arg(binary.package).stdout(Stdio::null());
        run(module, command, &mut |line| {
            // `go build -v` prints each package it compiles on a line of its own.
            if line.starts_with('#') || line.contains([' ', '\t']) {
                return false;
            }
            done += 1;
            on_event(BuildEvent::Compiled { done, total });
            true
        })?;
    }
    Ok(())
}

/// Counts the packages to compile. `go list` also downloads the modules.
fn count_packages(
    module: &Module<'_>,
    go: &Go<'_>,
    on_event: &mut dyn FnMut(BuildEvent),
) -> Result<usize, Error> {
    let list = go.sources.join(".packages");
    let mut command = go.command();
    command.args(["list", "-deps"]).args(module.binaries.iter().map(|binary| binary.package));
    command.stdout(File::create(&list).map_err(at(&list))?);
    run(module, command, &mut |line| {
        let Some(dependency) = line.strip_prefix("go: downloading ") else { return false };
        on_event(BuildEvent::Downloading { dependency: dependency.to_owned() });
        true
    })?;
    Ok(fs::read_to_string(&list).map_err(at(&list))?.lines().count())
}

impl Go<'_> {
    fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command.current_dir(self.sources).stdin(Stdio::null());
        // The user's Go settings must not affect the build.
        command.env("CGO_ENABLED", "0").env("GOFLAGS", "-mod=readonly").env("GOWORK", "off");
        command.env_remove("GOOS").env_remove("GOARCH").env_remove("GO111MODULE");
        if let Some(architecture) = self.architecture {
            command.env("GOARCH", architecture).env("GOPROXY", "off");
        }
        command
    }
}

/// Runs `command`. Lines of standard error that `is_progress` accepts are left out of the error if it fails.
fn run(
    module: &Module<'_>,
    mut command: Command,
    is_progress: &mut dyn FnMut(&str) -> bool,
) -> Result<(), Error> {
    let cannot_run = |source, command: &Command| Error::Run { go: command.get_program().into(), source };
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(|error| cannot_run(error, &command))?;
    let stderr = child.stderr.take().expect("standard error is piped");
    let mut output = VecDeque::new();
    for line in BufReader::new(stderr).lines() {
        let line = line.map_err(|error| cannot_run(error, &command))?;
        if !is_progress(&line) {
            output.push_back(line);
            if output.len() > REPORTED_LINES {
                output.pop_front();
            }
        }
    }
    let status = child.wait().map_err(|error| cannot_run(error, &command))?;
    if status.success() {
        return Ok(());
    }
    let words = std::iter::once("go".into()).chain(command.get_args().map(|word| word.to_string_lossy()));
    Err(Error::Failed {
        module: module.name.to_owned(),
        command: words.collect::<Vec<_>>().join(" "),
        status: status.to_string(),
        output: output.into(),
    })
}
