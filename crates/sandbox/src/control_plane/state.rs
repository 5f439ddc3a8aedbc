//! The state file: what a supervisor records about its sandbox for other processes to read.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::layout::{Layout, write_private};
use super::options::SupervisorOptions;
use super::process::ProcessIdentity;
use super::programs::Program;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StateFile {
    pub(crate) phase: Phase,
    pub(crate) supervisor: ProcessIdentity,
    pub(crate) started: Timestamp,
    pub(crate) options: SupervisorOptions,
    /// Empty until the API server has a port.
    pub(crate) server: String,
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) processes: Vec<ProgramProcess>,
}

/// A program that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramProcess {
    pub(crate) program: Program,
    pub(crate) process: ProcessIdentity,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "is")]
pub(crate) enum Phase {
    Starting {
        step: StartupStep,
    },
    Ready {
        /// How long the start took.
        after: Duration,
    },
    Stopping,
    Failed {
        failure: Failure,
    },
}

/// What a start is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StartupStep {
    /// etcd to accept connections; keys and certificates are generated meanwhile.
    Etcd,
    /// The API server to report ready.
    ApiServer,
    /// The default ServiceAccount to exist and the Node to be Ready.
    Node,
}

/// Why a sandbox did not start, or stopped unexpectedly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The program that failed, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// A clause: `ended with exit status: 1`.
    pub reason: String,
    /// The last lines of the program's log.
    pub log: Vec<String>,
    /// Whether the sandbox had been ready before.
    pub was_ready: bool,
}

impl Failure {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { program: None, reason: reason.into(), log: Vec::new(), was_ready: false }
    }

    /// For use with `map_err`: the failure to do `action`.
    pub(crate) fn of<E: std::error::Error>(action: &str) -> impl FnOnce(E) -> Self {
        move |error| Self::new(format!("{action}: {error}"))
    }
}

/// Why a state file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("there is no state file")]
    Missing,
    #[error(transparent)]
    Io(io::Error),
    #[error(transparent)]
    Damaged(serde_json::Error),
}

impl StateFile {
    pub(crate) fn read(layout: &Layout) -> Result<Self, ReadError> {
        let text = fs::read(layout.state()).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ReadError::Missing,
            _ => ReadError::Io(error),
        })?;
        serde_json::from_slice(&text).map_err(ReadError::Damaged)
    }

    pub(crate) fn write(&self, layout: &Layout) -> io::Result<()> {
        write_private(&layout.state(), &serde_json::to_vec_pretty(self)?)
    }
}

#[cfg(test)]
mod tests;
