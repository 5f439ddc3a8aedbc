//! Progress of a build.

use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildEvent {
    /// Another process is building the same module; this build waits for it.
    Waiting {
        module: String,
    },
    Started {
        module: String,
        /// With empty Go caches; warm ones make it far shorter.
        estimate: Duration,
    },
    /// A module that the build depends on is being fetched.
    Downloading {
        dependency: String,
    },
    /// A package was compiled.
    Compiled {
        done: usize,
        /// Cached packages never count as done, so a warm build ends early.
        total: usize,
    },
    Finished {
        module: String,
        elapsed: Duration,
    },
}
