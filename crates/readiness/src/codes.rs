//! The codes of this crate's diagnostics, with what each means.

use diag::Code;

pub const NO_CONDITION: Code = Code::new(
    "wait-without-condition",
    "A wait names no field, value or condition and does not set `rollout = true`, so it ends at once. Say what to wait \
     for, or remove it.",
);

pub const CONFLICT: Code = Code::new(
    "wait-conflict",
    "A wait is for a field, for values of fields or for a condition: only one of them. Use one wait for each.",
);

pub const SHADOWED: Code = Code::new(
    "wait-shadowed",
    "With `rollout = true` a wait ignores everything else it sets. Use one wait for each.",
);

pub const INVALID_PATH: Code = Code::new(
    "wait-invalid-path",
    "A path in a wait is written in kubectl's JSONPath: `status.loadBalancer.ingress[0].ip`, dots in names escaped \
     (`kubernetes\\.io/name`), filters as in `[?(@.type==\"Ready\")]`.",
);

pub const OUTSIDE_STATUS: Code = Code::new(
    "wait-outside-status",
    "The `status` attribute holds only what is below the object's `status`, so the path has to begin with it. \
     `k8sconnect_wait` can wait for any field.",
);

pub const INVALID_TIMEOUT: Code =
    Code::new("wait-invalid-timeout", "A timeout is a positive duration like `30s`, `5m` or `1h30m`.");

pub const ROLLOUT_UNSUPPORTED: Code = Code::new(
    "wait-rollout-unsupported",
    "Objects of this kind do not roll out: no controller works towards what their spec asks for. Wait for a field or a \
     condition instead.",
);

pub const UNKNOWN_CONDITION: Code = Code::new(
    "wait-unknown-condition",
    "Kubernetes sets no condition of this name on objects of this kind, so a wait for it ends only if another controller \
     does. Most likely the name is wrong.",
);

pub const TIMED_OUT: Code = Code::new(
    "wait-timed-out",
    "The object did not meet the wait in time. The detail shows how it stood at the end.",
);

pub const NEVER: Code = Code::new(
    "wait-never",
    "Waiting longer is pointless: the object is being deleted or has ended, for instance a Job that failed. The wait was \
     cut short.",
);

pub const DID_NOT_APPEAR: Code =
    Code::new("wait-did-not-appear", "The object to wait for did not exist within the timeout.");

pub const CODES: &[Code] = &[
    NO_CONDITION,
    CONFLICT,
    SHADOWED,
    INVALID_PATH,
    OUTSIDE_STATUS,
    INVALID_TIMEOUT,
    ROLLOUT_UNSUPPORTED,
    UNKNOWN_CONDITION,
    TIMED_OUT,
    NEVER,
    DID_NOT_APPEAR,
];
