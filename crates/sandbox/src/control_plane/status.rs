//! The status of a sandbox as users see it: its state file, checked against the running processes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;

use super::kubeconfig::contexts;
use super::layout::{Layout, Name};
use super::programs::{LocatedProgram, Origin, Program};
use super::state::{Failure, Phase, StateFile};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub name: Name,
    pub state: SandboxState,
    pub kubeconfig: PathBuf,
    /// The contexts in the kubeconfig; the first one is the current context.
    pub contexts: Vec<String>,
    /// The API server's address.
    pub server: String,
    pub started: Option<Timestamp>,
    /// How long the start took, once it is over.
    pub ready_after_ms: Option<u64>,
    /// Of the API server, etcd and kwok.
    pub versions: BTreeMap<String, String>,
    pub folder: PathBuf,
    pub logs: PathBuf,
    pub audit_log: Option<PathBuf>,
    /// Hold a shared lock on this file for as long as the sandbox is needed.
    pub lease: PathBuf,
    /// How long it outlives the last lease; until `down` if absent.
    pub linger_seconds: Option<u64>,
    /// The pid of the supervisor.
    pub supervisor: Option<i32>,
    pub programs: Vec<ProgramStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxState {
    Starting,
    Ready,
    Stopping,
    /// It stopped unexpectedly; the failure says why.
    Failed,
    /// Its supervisor was killed; the next `up` or `down` cleans up.
    Dead,
    /// Its state file cannot be parsed; the next `up` or `down` cleans up.
    Damaged,
}

impl SandboxState {
    pub const fn as_str(self) -> &'static str {
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgramStatus {
    pub program: Program,
    pub path: PathBuf,
    pub origin: Origin,
    pub pid: Option<i32>,
    /// kubectl has none.
    pub log: Option<PathBuf>,
}

impl Status {
    pub(crate) fn new(layout: &Layout, file: StateFile) -> Self {
        let alive = file.supervisor.is_running();
        let (state, ready_after, failure) = match file.phase {
            Phase::Failed { failure } => (SandboxState::Failed, None, Some(failure)),
            _ if !alive => (SandboxState::Dead, None, None),
            Phase::Starting { .. } => (SandboxState::Starting, None, None),
            Phase::Ready { after } => (SandboxState::Ready, Some(after), None),
            Phase::Stopping => (SandboxState::Stopping, None, None),
        };
        let programs = file.options.programs.into_iter().map(|LocatedProgram { program, path, origin }| {
            let running =
                file.processes.iter().find(|child| child.program == program && child.process.is_running());
            let log = (program != Program::Kubectl).then(|| layout.log(program));
            ProgramStatus { program, path, origin, pid: running.map(|child| child.process.pid), log }
        });
        let request = file.options.request;
        Self {
            programs: programs.collect(),
            server: file.server,
            started: Some(file.started),
            ready_after_ms: ready_after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
            versions: file.versions,
            audit_log: request.audit.then(|| layout.audit_log()),
            linger_seconds: request.linger.map(|linger| linger.as_secs()),
            supervisor: alive.then_some(file.supervisor.pid),
            failure,
            ..Self::bare(layout, &request.name, state)
        }
    }

    pub(crate) fn damaged(layout: &Layout, name: &Name) -> Self {
        Self::bare(layout, name, SandboxState::Damaged)
    }

    /// What is known without the state file.
    fn bare(layout: &Layout, name: &Name, state: SandboxState) -> Self {
        Self {
            name: name.clone(),
            state,
            kubeconfig: layout.kubeconfig(),
            contexts: contexts(name).into(),
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
pub(super) mod tests;
