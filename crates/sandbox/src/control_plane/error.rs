//! What can go wrong with a sandbox, and what a person can do about it.

use std::io;
use std::path::{Path, PathBuf};

use diag::Diagnostic;

use super::layout::Name;
use super::programs::Program;
use super::state::{Failure, Standing};
use crate::{codes, gobuild};

/// Why a sandbox is not as it was asked to be.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Programs are missing and cannot be built.
    #[error("cannot find {}, and there is no `go` to build with", list(missing))]
    NoPrograms {
        /// The programs.
        missing: Vec<Program>,
        /// `KUBEBUILDER_ASSETS`, if it is set.
        assets: Option<PathBuf>,
        /// The folder in the cache they would be in.
        cache: PathBuf,
    },
    /// The etcd in `KUBEBUILDER_ASSETS` is too old.
    #[error("etcd {version} in {} is too old", path.display())]
    OldEtcd {
        /// The executable.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// The build failed.
    #[error("cannot build the control plane")]
    Build(#[source] gobuild::Error),
    /// A file could not be read or written.
    #[error("cannot {action} {}", path.display())]
    Files {
        /// What was tried: `read`, `write`, `lock`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The supervisor could not be run.
    #[error("cannot run {} to supervise the sandbox", path.display())]
    Executable {
        /// The executable.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The port asked for is taken, or not for us to use.
    #[error("cannot listen on port {port} of 127.0.0.1")]
    Port {
        /// The port.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The sandbox did not start, or ended by itself.
    #[error("sandbox {name} {}", describe(failure))]
    Failed {
        /// The sandbox.
        name: Name,
        /// What happened.
        failure: Failure,
        /// Where the logs are.
        logs: PathBuf,
    },
    /// The sandbox does not run.
    #[error("sandbox {name} is {}", standing.map_or("not there", Standing::word))]
    NotRunning {
        /// The sandbox.
        name: Name,
        /// How it stands, if there is something of it.
        standing: Option<Standing>,
    },
    /// A process would not end.
    #[error("process {pid} of sandbox {name} does not end")]
    NotStopped {
        /// The sandbox.
        name: Name,
        /// The process.
        pid: i32,
    },
    /// The cache cannot be removed.
    #[error("the cache is in use by sandbox {}", names.iter().map(Name::as_str).collect::<Vec<_>>().join(", "))]
    CacheInUse {
        /// The sandboxes that run from it.
        names: Vec<Name>,
    },
    /// There is no such log.
    #[error("sandbox {name} has no log of {program}")]
    NoLog {
        /// The sandbox.
        name: Name,
        /// What was asked for.
        program: String,
    },
}

impl Error {
    /// For use with `map_err`: the error of trying to do `action` to `path`.
    pub(crate) fn files(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Files { action, path, source }
    }

    /// The error as a person is to read it.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::NoPrograms { assets, cache, .. } => no_programs(self, assets.as_deref(), cache),
            Self::OldEtcd { .. } => Diagnostic::error(codes::ETCD_TOO_OLD, self.to_string())
                .detail("Before 3.6 etcd does not answer watches the way this API server asks, so informers never sync.")
                .hint("Use newer assets, or unset KUBEBUILDER_ASSETS to let plimsoll build its own."),
            Self::Build(error) => build(error),
            Self::Files { source, .. } => Diagnostic::error(codes::FILES, self.to_string())
                .detail(capitalised(source))
                .hint("Set XDG_STATE_HOME to a folder you can write to."),
            Self::Executable { source, .. } => Diagnostic::error(codes::START_FAILED, self.to_string())
                .detail(capitalised(source))
                .hint("Try again, if plimsoll was replaced or moved while it ran."),
            Self::Port { source, .. } => Diagnostic::error(codes::PORT, self.to_string())
                .detail(capitalised(source))
                .hint("Leave out --port to get a free one, or end what listens there."),
            Self::Failed { failure, logs, .. } => Diagnostic::error(codes::START_FAILED, self.to_string())
                .detail(last_lines(&failure.log))
                .help(format!("the whole logs are in {}", logs.display())),
            Self::NotRunning { name, .. } => Diagnostic::error(codes::NOT_RUNNING, self.to_string())
                .hint(format!("Start it with `plimsoll sandbox up --name {name} --detach`."))
                .help("`plimsoll sandbox list` shows what there is"),
            Self::NotStopped { name, pid } => Diagnostic::error(codes::NOT_STOPPED, self.to_string())
                .detail("It was sent SIGKILL and is still there, so the kernel is not done with it.")
                .hint(format!("Look at /proc/{pid}/stack, then try `plimsoll sandbox down --name {name}` again.")),
            Self::CacheInUse { names } => Diagnostic::error(codes::CACHE_IN_USE, self.to_string())
                .hint(format!("Stop it first: {}.", stop_commands(names))),
            Self::NoLog { program, .. } => Diagnostic::error(codes::NO_LOG, self.to_string()).hint(
                if program == "audit" {
                    "Start the sandbox with --audit to have one."
                } else {
                    "Leave out the program to see which logs there are."
                },
            ),
        }
    }
}

fn no_programs(error: &Error, assets: Option<&Path>, cache: &Path) -> Diagnostic {
    let assets = match assets {
        Some(folder) => format!("KUBEBUILDER_ASSETS is {} and does not have them", folder.display()),
        None => "KUBEBUILDER_ASSETS is not set".to_owned(),
    };
    Diagnostic::error(codes::PROGRAMS_MISSING, error.to_string()).detail(format!(
        "{assets}, {} is not a whole build, and no `go` is on PATH. There are three ways out:\n\
         1. install Go 1.26 or later, https://go.dev/dl: the next run builds them, in four to six minutes\n\
         2. set KUBEBUILDER_ASSETS to a folder that has them\n\
         3. copy that build from the cache of a machine that has it",
        cache.display(),
    ))
}

fn build(error: &gobuild::Error) -> Diagnostic {
    let summary = error.to_string();
    match error {
        gobuild::Error::Failed { output, .. } => Diagnostic::error(codes::BUILD_FAILED, summary)
            .detail(last_lines(output))
            .hint("Check that Go is 1.26 or later (`go version`) and that modules can be fetched (`go env GOPROXY`)."),
        gobuild::Error::Cache { source, .. } => Diagnostic::error(codes::FILES, summary)
            .detail(capitalised(source))
            .hint("Set XDG_CACHE_HOME to a folder you can write to, with 300 MB free."),
        gobuild::Error::Run { source, .. } => Diagnostic::error(codes::BUILD_FAILED, summary).detail(capitalised(source)),
        gobuild::Error::Busy { .. } => {
            Diagnostic::error(codes::CACHE_IN_USE, summary).hint("Wait until it is done, then try again.")
        }
        gobuild::Error::NoGo { .. } => Diagnostic::error(codes::PROGRAMS_MISSING, summary),
    }
}

fn stop_commands(names: &[Name]) -> String {
    let commands: Vec<_> =
        names.iter().map(|name| format!("`plimsoll sandbox down --name {name}`")).collect();
    commands.join(", ")
}

fn describe(failure: &Failure) -> String {
    let what = if failure.was_ready { "ended by itself" } else { "did not start" };
    match failure.program {
        Some(program) => format!("{what}: {program} {}", failure.reason),
        None => format!("{what}: {}", failure.reason),
    }
}

fn last_lines(lines: &[String]) -> String {
    if lines.is_empty() { "There is nothing in its log.".to_owned() } else { lines.join("\n") }
}

/// Turns what the system said into a sentence.
fn capitalised(error: &io::Error) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

fn list(programs: &[Program]) -> String {
    programs.iter().map(|program| program.name()).collect::<Vec<_>>().join(", ")
}
