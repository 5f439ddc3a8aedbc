//! The codes of every diagnostic of this crate.

use diag::Code;

pub const ANNOTATION_VALUE: Code = Code::new(
    "operation-annotation-value",
    "An annotation that steers a cloud resource has an invalid value. The safe choice was made.",
);
pub const PHASE_CONTRADICTED: Code = Code::new(
    "operation-phase-contradicted",
    "The provider's work request is of another type than expected. It is followed as what the provider reports.",
);
pub const OPERATION_FAILED: Code = Code::new(
    "operation-failed",
    "The provider reports that an operation failed or was canceled. A new spec starts a new attempt at once; otherwise \
     it is retried after 5 minutes, then with growing delays up to an hour.",
);
pub const OPERATION_STALLED: Code = Code::new(
    "operation-stalled",
    "A cloud resource makes no progress by itself; the reason of the condition says why. It is checked again after 5 \
     minutes, then with growing delays up to an hour.",
);
pub const DEADLINE_EXCEEDED: Code = Code::new(
    "operation-deadline-exceeded",
    "An operation is taking longer than the operator's --operation-deadline. It is still followed.",
);
pub const AVAILABLE: Code = Code::new("operation-available", "A cloud resource now matches its spec.");
pub const OPERATION_STARTED: Code =
    Code::new("operation-started", "A create, update or delete of a cloud resource is in flight.");
pub const RETRYING: Code = Code::new(
    "operation-retrying",
    "A call to the provider failed with a transient error (429, 5xx, a timeout). It is retried with backoff.",
);
pub const SEVERAL_OWNED: Code = Code::new(
    "operation-several-owned",
    "More than one resource carries the tag of one object. One of them is followed; the others are left alone.",
);
pub const ENDPOINT_SECRET: Code = Code::new(
    "operation-endpoint-secret",
    "The Secret for the endpoint of a cloud resource belongs to another owner, or the API server rejects it. The object \
     is not ready until applications can read the endpoint there.",
);

pub const CODES: &[Code] = &[
    ANNOTATION_VALUE,
    PHASE_CONTRADICTED,
    OPERATION_FAILED,
    OPERATION_STALLED,
    DEADLINE_EXCEEDED,
    AVAILABLE,
    OPERATION_STARTED,
    RETRYING,
    SEVERAL_OWNED,
    ENDPOINT_SECRET,
];
