//! Diagnostic codes of the sandbox.

diag::codes! {
    "codes.md";
    pub const CODES;
    pub(crate) const PROGRAMS_MISSING = "sandbox-programs-missing";
    pub(crate) const ETCD_TOO_OLD = "sandbox-etcd-too-old";
    pub(crate) const BUILD_FAILED = "sandbox-build-failed";
    pub(crate) const FILES = "sandbox-files";
    pub(crate) const START_FAILED = "sandbox-start-failed";
    pub(crate) const PORT = "sandbox-port";
    pub(crate) const NOT_RUNNING = "sandbox-not-running";
    pub(crate) const DIFFERS = "sandbox-differs";
    pub(crate) const NOT_STOPPED = "sandbox-not-stopped";
    pub(crate) const CACHE_IN_USE = "sandbox-cache-in-use";
    pub(crate) const NO_LOG = "sandbox-no-log";
}
