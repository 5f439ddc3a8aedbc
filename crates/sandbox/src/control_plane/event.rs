//! Progress of starting and stopping a sandbox.

use super::layout::Name;
use super::state::StartupStep;
use super::status::SandboxState;
use crate::gobuild::BuildEvent;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LifecycleEvent {
    /// Another process is starting or stopping the same sandbox.
    Waiting {
        name: Name,
    },
    /// The remains of an earlier sandbox are being removed.
    Cleaning {
        name: Name,
        /// Before the cleanup.
        state: SandboxState,
    },
    Build(BuildEvent),
    /// The start has reached this step.
    Step(StartupStep),
}
