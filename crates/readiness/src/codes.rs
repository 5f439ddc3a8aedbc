//! The codes of what this crate tells people, with what each means.

use diag::Code;

/// See [`CODES`].
pub const NO_CONDITION: Code = Code::new(
    "wait-without-condition",
    "A wait says neither which field, value or condition to wait for nor `rollout = true`, so it is over at once. \
     Say what to wait for, or remove it.",
);

/// See [`CODES`].
pub const CONFLICT: Code = Code::new(
    "wait-conflict",
    "A wait can be for a field, for values of fields or for a condition, but only for one of them. Use one wait each.",
);

/// See [`CODES`].
pub const SHADOWED: Code = Code::new(
    "wait-shadowed",
    "`rollout = true` decides alone when a wait is over; what else is set beside it is not waited for. Use one wait each.",
);

/// See [`CODES`].
pub const INVALID_PATH: Code = Code::new(
    "wait-invalid-path",
    "A path in a wait is written in kubectl's JSONPath: `status.loadBalancer.ingress[0].ip`, dots in names escaped \
     (`kubernetes\\.io/name`), filters as in `[?(@.type==\"Ready\")]`.",
);

/// See [`CODES`].
pub const OUTSIDE_STATUS: Code = Code::new(
    "wait-outside-status",
    "The `status` of an object holds what was waited for below `status`, so the path has to begin with it. \
     `k8sconnect_wait` can wait for any field.",
);

/// See [`CODES`].
pub const INVALID_TIMEOUT: Code =
    Code::new("wait-invalid-timeout", "A timeout is a positive duration like `30s`, `5m` or `1h30m`.");

/// See [`CODES`].
pub const ROLLOUT_UNSUPPORTED: Code = Code::new(
    "wait-rollout-unsupported",
    "Objects of this kind do not roll out: nothing about them changes by itself in the way workloads do. \
     Wait for a field or a condition instead.",
);

/// See [`CODES`].
pub const TIMED_OUT: Code = Code::new(
    "wait-timed-out",
    "The object did not become what was waited for in time. The detail shows how it stood at the end.",
);

/// See [`CODES`].
pub const NEVER: Code = Code::new(
    "wait-never",
    "The object has ended in a way that makes the wait pointless, for instance a Job that failed, so it was not waited \
     for any longer.",
);

/// See [`CODES`].
pub const DID_NOT_APPEAR: Code =
    Code::new("wait-did-not-appear", "The object to wait for did not exist within the timeout.");

/// All codes of this crate.
pub const CODES: &[Code] = &[
    NO_CONDITION,
    CONFLICT,
    SHADOWED,
    INVALID_PATH,
    OUTSIDE_STATUS,
    INVALID_TIMEOUT,
    ROLLOUT_UNSUPPORTED,
    TIMED_OUT,
    NEVER,
    DID_NOT_APPEAR,
];
