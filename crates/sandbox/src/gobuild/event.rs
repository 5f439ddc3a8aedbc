//! What a build tells while it runs.

use std::time::Duration;

/// Something worth telling about a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Somebody else builds the same module; this build waits for theirs.
    Waiting {
        /// The module.
        module: String,
    },
    /// The build begins.
    Started {
        /// The module.
        module: String,
        /// What it takes with empty Go caches; with warm ones it is far less.
        estimate: Duration,
    },
    /// A module it depends on is fetched.
    Downloading {
        /// The module that is fetched.
        dependency: String,
    },
    /// A package is compiled.
    Compiled {
        /// Packages compiled so far.
        done: usize,
        /// Packages in all; cached ones are never counted as done, so a warm build ends early.
        total: usize,
    },
    /// The build is there.
    Finished {
        /// The module.
        module: String,
        /// How long it took.
        elapsed: Duration,
    },
}
