//! Errors of the sandbox, and how to resolve them.

use std::io;
use std::path::{Path, PathBuf};

use diag::Diagnostic;

use super::layout::Name;
use super::programs::Program;
use super::state::Failure;
use super::status::SandboxState;
use crate::{codes, gobuild};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot find {}, and there is no `go` to build them", join(missing, |program| program.name().to_owned()))]
    NoPrograms {
        missing: Vec<Program>,
        /// `KUBEBUILDER_ASSETS`, if it is set.
        assets: Option<PathBuf>,
        /// Where the build would be.
        cache: PathBuf,
    },
    #[error("etcd {version} in {} is too old", path.display())]
    OldEtcd { path: PathBuf, version: String },
    #[error("cannot build the control plane")]
    Build(#[source] gobuild::Error),
    #[error("cannot {action} {}", path.display())]
    Files {
        /// A verb: `read`, `write`, `lock`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("cannot run {} to supervise the sandbox", path.display())]
    Executable { path: PathBuf, source: io::Error },
    #[error("cannot listen on port {port} of 127.0.0.1")]
    Port { port: u16, source: io::Error },
    /// The sandbox did not start, or stopped unexpectedly.
    #[error("sandbox {name} {}", describe(failure))]
    Failed { name: Name, failure: Failure, logs: PathBuf },
    #[error("sandbox {name} {}", describe_state(*state))]
    NotRunning {
        name: Name,
        /// None if the sandbox does not exist.
        state: Option<SandboxState>,
    },
    #[error("process {pid} of sandbox {name} does not exit")]
    NotStopped { name: Name, pid: i32 },
    #[error("the cache is in use by sandbox {}", join(names, Name::to_string))]
    CacheInUse { names: Vec<Name> },
    #[error("sandbox {name} has no log of {program}")]
    NoLog { name: Name, program: String },
}

impl Error {
    /// For use with `map_err`: the error of `action` on `path`.
    pub(crate) fn files(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Files { action, path, source }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        let error = |code| Diagnostic::error(code, self.to_string());
        match self {
            Self::NoPrograms { assets, cache, .. } => {
                error(codes::PROGRAMS_MISSING).detail(solutions(assets.as_deref(), cache))
            }
            Self::OldEtcd { .. } => error(codes::ETCD_TOO_OLD)
                .detail("etcd before 3.6 does not support the watches of this API server, so informers never sync.")
                .hint("Use newer assets, or unset KUBEBUILDER_ASSETS to let plimsoll build its own."),
            Self::Build(error) => build(error),
            Self::Files { source, .. } => error(codes::FILES)
                .detail(sentence(source))
                .hint("Set XDG_STATE_HOME to a folder you can write to."),
            Self::Executable { source, .. } => error(codes::START_FAILED)
                .detail(sentence(source))
                .hint("Try again if plimsoll was replaced or moved while it was running."),
            Self::Port { source, .. } => error(codes::PORT)
                .detail(sentence(source))
                .hint("Omit --port to get a free one, or stop what listens there."),
            Self::Failed { failure, logs, .. } => error(codes::START_FAILED)
                .detail(last_lines(&failure.log))
                .help(format!("the complete logs are in {}", logs.display())),
            Self::NotRunning { name, .. } => error(codes::NOT_RUNNING)
                .hint(format!("Start it with `plimsoll sandbox up --name {name} --detach`."))
                .help("`plimsoll sandbox list` shows all sandboxes"),
            Self::NotStopped { name, pid } => error(codes::NOT_STOPPED)
                .detail("It was sent SIGKILL and still exists, so the kernel is not done with it.")
                .hint(format!("Check /proc/{pid}/stack, then run `plimsoll sandbox down --name {name}` again.")),
            Self::CacheInUse { names } => {
                let commands = join(names, |name| format!("`plimsoll sandbox down --name {name}`"));
                error(codes::CACHE_IN_USE).hint(format!("Stop it first: {commands}."))
            }
            Self::NoLog { program, .. } => error(codes::NO_LOG).hint(match program.as_str() {
                "audit" => "Start the sandbox with --audit to get one.",
                _ => "Omit the program to print all logs.",
            }),
        }
    }
}

fn solutions(assets: Option<&Path>, cache: &Path) -> String {
    let assets = match assets {
        Some(folder) => format!("KUBEBUILDER_ASSETS is {}, which does not contain them", folder.display()),
        None => "KUBEBUILDER_ASSETS is not set".to_owned(),
    };
    format!(
        "{assets}, {} is not a complete build, and no `go` is on PATH. Do one of the following:\n\
         1. unpack the archive plimsoll-control-plane_{} of the release beside this program\n\
         2. install Go 1.26 or later, https://go.dev/dl: the next run builds them, in four to six minutes\n\
         3. set KUBEBUILDER_ASSETS to a folder that contains them\n\
         4. copy the build from the cache of another machine",
        cache.display(),
        env!("CARGO_PKG_VERSION"),
    )
}

fn build(error: &gobuild::Error) -> Diagnostic {
    let diagnostic = |code| Diagnostic::error(code, error.to_string());
    match error {
        gobuild::Error::Failed { output, .. } => diagnostic(codes::BUILD_FAILED)
            .detail(last_lines(output))
            .hint("Check that Go is 1.26 or later (`go version`) and that modules can be fetched (`go env GOPROXY`)."),
        gobuild::Error::Cache { source, .. } => diagnostic(codes::FILES)
            .detail(sentence(source))
            .hint("Set XDG_CACHE_HOME to a folder you can write to, with 300 MB free."),
        gobuild::Error::Run { source, .. } => diagnostic(codes::BUILD_FAILED).detail(sentence(source)),
        gobuild::Error::Busy { .. } => {
            diagnostic(codes::CACHE_IN_USE).hint("Wait until the build is done, then try again.")
        }
        gobuild::Error::NoGo { .. } => diagnostic(codes::PROGRAMS_MISSING),
    }
}

fn join<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn describe(failure: &Failure) -> String {
    let what = if failure.was_ready { "stopped unexpectedly" } else { "did not start" };
    match failure.program {
        Some(program) => format!("{what}: {program} {}", failure.reason),
        None => format!("{what}: {}", failure.reason),
    }
}

fn describe_state(state: Option<SandboxState>) -> String {
    match state {
        Some(state) => format!("is not ready (state: {})", state.as_str()),
        None => "does not exist".to_owned(),
    }
}

fn last_lines(lines: &[String]) -> String {
    if lines.is_empty() { "The log is empty.".to_owned() } else { lines.join("\n") }
}

/// The message of the operating system as a sentence.
fn sentence(error: &io::Error) -> String {
    let text = error.to_string();
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), chars.as_str()))
}
