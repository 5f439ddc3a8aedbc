//! What a supervisor writes down about its sandbox, for everybody else to read.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::layout::{Layout, Name, write_private};
use super::process::Identity;
use super::programs::{Found, Program};

/// The content of the state file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    pub(crate) name: Name,
    pub(crate) phase: Phase,
    pub(crate) supervisor: Identity,
    pub(crate) started: Timestamp,
    pub(crate) options: Options,
    /// Empty until the API server has a port.
    pub(crate) server: String,
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) processes: Vec<Running>,
}

/// A program that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    pub(crate) program: Program,
    pub(crate) process: Identity,
}

/// How far a sandbox is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "is")]
pub(crate) enum Phase {
    /// The programs are starting; `step` says what is waited for.
    Starting { step: Step },
    /// It can be used.
    Ready {
        /// How long the start took.
        after: Duration,
    },
    /// The programs are being ended.
    Stopping,
    /// It ended by itself.
    Failed { failure: Failure },
}

/// What a start waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// etcd is to accept connections; meanwhile keys and certificates are made.
    Etcd,
    /// The API server is to say it is ready.
    ApiServer,
    /// The default ServiceAccount is to exist and the Node to be Ready.
    Node,
}

/// Why a sandbox ended by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The program at fault, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// What happened, in a clause: `ended with exit status: 1`.
    pub reason: String,
    /// The last lines of its log.
    pub log: Vec<String>,
    /// Whether the sandbox had been ready before.
    pub was_ready: bool,
}

impl Failure {
    /// A failure that no program is to blame for.
    pub(crate) fn because(reason: impl Into<String>) -> Self {
        Self { program: None, reason: reason.into(), log: Vec::new(), was_ready: false }
    }

    /// A failure to do something, with what was said about it.
    pub(crate) fn caused(what: &str, error: &dyn std::error::Error) -> Self {
        Self::because(format!("{what}: {error}"))
    }
}

/// What the supervisor is asked to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Options {
    pub(crate) name: Name,
    pub(crate) programs: Vec<Found>,
    /// The API server's port; a free one if absent.
    pub(crate) port: Option<u16>,
    pub(crate) audit: bool,
    /// How long the sandbox outlives the last lease; for ever if absent.
    pub(crate) linger: Option<Duration>,
    /// Flags for the API server, without the dashes.
    pub(crate) apiserver_args: Vec<(String, String)>,
    /// How long the start may take.
    pub(crate) timeout: Duration,
}

impl Options {
    pub(crate) fn path_of(&self, program: Program) -> &Path {
        let found = self.programs.iter().find(|found| found.program == program);
        &found.expect("every program was found before the supervisor started").path
    }
}

/// Why a state file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("there is none")]
    Missing,
    #[error(transparent)]
    Io(io::Error),
    #[error(transparent)]
    Damaged(serde_json::Error),
}

impl State {
    /// Reads what the supervisor wrote.
    pub(crate) fn read(layout: &Layout) -> Result<Self, ReadError> {
        let text = fs::read(layout.state()).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ReadError::Missing,
            _ => ReadError::Io(error),
        })?;
        serde_json::from_slice(&text).map_err(ReadError::Damaged)
    }

    /// Replaces the state file.
    pub(crate) fn write(&self, layout: &Layout) -> io::Result<()> {
        write_private(&layout.state(), &serde_json::to_vec_pretty(self)?)
    }
}

/// What is known of a sandbox, in the form it is shown and printed as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Its name.
    pub name: Name,
    /// How it stands.
    pub state: Standing,
    /// The kubeconfig file.
    pub kubeconfig: PathBuf,
    /// The contexts in it; the first is the current one.
    pub contexts: Vec<String>,
    /// The API server's address.
    pub server: String,
    /// When it was started.
    pub started: Option<Timestamp>,
    /// How long the start took, in milliseconds, once it is over.
    pub ready_after_ms: Option<u64>,
    /// The versions of the API server, etcd and kwok.
    pub versions: BTreeMap<String, String>,
    /// The folder everything of it is in.
    pub folder: PathBuf,
    /// The folder of its logs.
    pub logs: PathBuf,
    /// The API server's audit log, if it was asked for.
    pub audit_log: Option<PathBuf>,
    /// The file to hold a shared lock on for as long as the sandbox is needed.
    pub lease: PathBuf,
    /// How many seconds it outlives the last lease; it stays until `down` if absent.
    pub linger_seconds: Option<u64>,
    /// The process that owns the others.
    pub supervisor: Option<i32>,
    /// Its programs.
    pub programs: Vec<ProgramStatus>,
    /// Why it ended by itself, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// How a sandbox stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Its programs are starting.
    Starting,
    /// It can be used.
    Ready,
    /// Its programs are being ended.
    Stopping,
    /// It ended by itself; the failure says why.
    Failed,
    /// Its supervisor was killed; the next `up` or `down` cleans up.
    Dead,
    /// Its state file cannot be read; the next `up` or `down` cleans up.
    Damaged,
}

impl Standing {
    /// The word shown to people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Stopping => "stopping",
            Self::Failed => "failed",
            Self::Dead => "dead",
            Self::Damaged => "damaged",
        }
    }
}

/// One program of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgramStatus {
    /// Which program, and where it was found.
    #[serde(flatten)]
    pub found: Found,
    /// Its process, if it runs.
    pub pid: Option<i32>,
    /// Its log; kubectl has none.
    pub log: Option<PathBuf>,
}

impl Status {
    /// Makes what is shown from what was written and from a look at the processes.
    pub(crate) fn new(layout: &Layout, state: State) -> Self {
        let alive = state.supervisor.is_running();
        let (standing, ready_after, failure) = match state.phase {
            Phase::Failed { failure } => (Standing::Failed, None, Some(failure)),
            _ if !alive => (Standing::Dead, None, None),
            Phase::Starting { .. } => (Standing::Starting, None, None),
            Phase::Ready { after } => (Standing::Ready, Some(after), None),
            Phase::Stopping => (Standing::Stopping, None, None),
        };
        let processes = state.processes;
        let programs = state.options.programs.into_iter().map(|found| {
            let program = found.program;
            let running = processes.iter().find(|running| running.program == program);
            let pid =
                running.filter(|running| running.process.is_running()).map(|running| running.process.pid);
            ProgramStatus { found, pid, log: (program != Program::Kubectl).then(|| layout.log(program)) }
        });
        Self {
            programs: programs.collect(),
            state: standing,
            kubeconfig: layout.kubeconfig(),
            contexts: super::kubeconfig::contexts(&state.name).into(),
            server: state.server,
            started: Some(state.started),
            ready_after_ms: ready_after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
            versions: state.versions,
            folder: layout.root().to_owned(),
            logs: layout.logs(),
            audit_log: state.options.audit.then(|| layout.audit_log()),
            lease: layout.lease(),
            linger_seconds: state.options.linger.map(|linger| linger.as_secs()),
            supervisor: alive.then_some(state.supervisor.pid),
            failure,
            name: state.name,
        }
    }

    /// What is known of a sandbox whose state file cannot be read.
    pub(crate) fn damaged(layout: &Layout, name: &Name) -> Self {
        Self {
            name: name.clone(),
            state: Standing::Damaged,
            kubeconfig: layout.kubeconfig(),
            contexts: super::kubeconfig::contexts(name).into(),
            server: String::new(),
            started: None,
            ready_after_ms: None,
            versions: BTreeMap::new(),
            folder: layout.root().to_owned(),
            logs: layout.logs(),
            audit_log: None,
            lease: layout.lease(),
            linger_seconds: None,
            supervisor: None,
            programs: Vec::new(),
            failure: None,
        }
    }
}

#[cfg(test)]
mod tests;
