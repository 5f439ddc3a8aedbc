//! The stable names of what can go wrong with a sandbox.

use diag::Code;

pub(crate) const PROGRAMS_MISSING: Code = Code::new(
    "sandbox-programs-missing",
    "A program of the control plane is neither in KUBEBUILDER_ASSETS nor in the cache, and there is no Go toolchain to \
     build it with.",
);
pub(crate) const ETCD_TOO_OLD: Code = Code::new(
    "sandbox-etcd-too-old",
    "The etcd in KUBEBUILDER_ASSETS is older than 3.6, which the API server's watches need.",
);
pub(crate) const BUILD_FAILED: Code = Code::new(
    "sandbox-build-failed",
    "Building the control plane with Go failed; the last lines of Go's output say why. It needs Go 1.26 or later and, \
     the first time, a network or a Go module proxy.",
);
pub(crate) const FILES: Code = Code::new(
    "sandbox-files",
    "A file or folder of the sandbox could not be read or written. XDG_STATE_HOME and XDG_CACHE_HOME say where they are.",
);
pub(crate) const START_FAILED: Code = Code::new(
    "sandbox-start-failed",
    "A program of the control plane ended, or did not become ready in time; the last lines of its log say why.",
);
pub(crate) const PORT: Code = Code::new(
    "sandbox-port",
    "The port asked for is in use by another process on 127.0.0.1, or only root may listen on it.",
);
pub(crate) const NOT_RUNNING: Code =
    Code::new("sandbox-not-running", "There is no sandbox of this name, or it does not run.");
pub(crate) const DIFFERS: Code = Code::new(
    "sandbox-differs",
    "A sandbox of this name runs already and is left as it is, although it was asked for with other options.",
);
pub(crate) const NOT_STOPPED: Code = Code::new(
    "sandbox-not-stopped",
    "A process of the sandbox did not end although it was killed; usually it waits for a disk.",
);
pub(crate) const CACHE_IN_USE: Code =
    Code::new("sandbox-cache-in-use", "The cache holds programs that a sandbox is running.");
pub(crate) const NO_LOG: Code = Code::new("sandbox-no-log", "The sandbox has no log of that program.");

/// Every code of this crate.
pub const CODES: &[Code] = &[
    PROGRAMS_MISSING,
    ETCD_TOO_OLD,
    BUILD_FAILED,
    FILES,
    START_FAILED,
    PORT,
    NOT_RUNNING,
    DIFFERS,
    NOT_STOPPED,
    CACHE_IN_USE,
    NO_LOG,
];
