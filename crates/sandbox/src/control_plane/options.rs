//! What a sandbox is started with.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::layout::Name;
use super::programs::{LocatedProgram, Program};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpRequest {
    pub name: Name,
    /// The API server's port; a free one if absent.
    pub port: Option<u16>,
    /// Whether the API server writes an audit log.
    pub audit: bool,
    /// How long the sandbox outlives the last [`Lease`](super::Lease); until [`down`](super::down) if absent.
    pub linger: Option<Duration>,
    /// Further flags for the API server, without the dashes.
    pub apiserver_args: Vec<(String, String)>,
    /// Time limit for the start, not counting the build.
    pub timeout: Duration,
    /// The executable whose command `sandbox supervise FOLDER` calls [`supervise`](super::supervise).
    pub executable: PathBuf,
}

impl UpRequest {
    pub fn new(name: Name, executable: PathBuf) -> Self {
        Self {
            name,
            port: None,
            audit: false,
            linger: None,
            apiserver_args: Vec::new(),
            timeout: Duration::from_secs(120),
            executable,
        }
    }
}

/// What the client asks the supervisor to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SupervisorOptions {
    pub(crate) request: UpRequest,
    pub(crate) programs: Vec<LocatedProgram>,
}

impl SupervisorOptions {
    pub(crate) fn path_of(&self, program: Program) -> &Path {
        let located = self.programs.iter().find(|located| located.program == program);
        &located.expect("every program was located before the supervisor started").path
    }
}
