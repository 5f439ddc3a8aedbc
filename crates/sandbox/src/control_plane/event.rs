//! What starting and stopping tells while it runs.

use super::layout::Name;
use super::state::{Standing, Step};
use crate::gobuild;

/// Something worth telling while a sandbox starts or stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Another process is starting or stopping the same sandbox.
    Waiting {
        /// The sandbox.
        name: Name,
    },
    /// What is left of an earlier sandbox is removed.
    Cleaning {
        /// The sandbox.
        name: Name,
        /// How it was found.
        standing: Standing,
    },
    /// The programs are built.
    Build(gobuild::Event),
    /// The start waits for something new.
    Step(Step),
}
