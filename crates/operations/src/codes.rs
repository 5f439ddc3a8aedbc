//! The names of everything this crate tells people.

use diag::Code;

/// An annotation of ours whose value means nothing.
pub const ANNOTATION_VALUE: Code = Code::new(
    "operation-annotation-value",
    "An annotation that steers a cloud resource has a value that means nothing; the careful choice was made.",
);
/// A work request does something else than we asked for.
pub const PHASE_CONTRADICTED: Code = Code::new(
    "operation-phase-contradicted",
    "The provider's work request does something else than was expected of it. The provider is believed.",
);
/// The provider ended an operation without the outcome asked for.
pub const OPERATION_FAILED: Code = Code::new(
    "operation-failed",
    "The provider says that an operation failed or was canceled. A new spec starts a new attempt at once, otherwise \
     it is tried again on the slow schedule.",
);
/// The object gets no further by itself.
pub const OPERATION_STALLED: Code = Code::new(
    "operation-stalled",
    "A cloud resource gets no further by itself; the condition's reason says why. It is still looked at, slowly.",
);
/// The operation takes longer than it should.
pub const DEADLINE_EXCEEDED: Code = Code::new(
    "operation-deadline-exceeded",
    "An operation takes longer than the operator's --operation-deadline. It is still followed.",
);
/// The resource is as asked.
pub const AVAILABLE: Code = Code::new("operation-available", "A cloud resource became as its spec asks.");
/// An operation began.
pub const OPERATION_STARTED: Code =
    Code::new("operation-started", "A create, update or delete of a cloud resource is in flight.");
/// A call met trouble that passes.
pub const RETRYING: Code = Code::new(
    "operation-retrying",
    "A call to the provider met trouble that passes (429, 5xx, a timeout); it is tried again with growing pauses.",
);
/// More than one resource carries the object's tag.
pub const SEVERAL_OWNED: Code = Code::new(
    "operation-several-owned",
    "More than one resource carries the tag of one object. One of them is followed; the others are left alone.",
);
/// A Secret stands where an endpoint Secret should be.
pub const ENDPOINT_SECRET: Code = Code::new(
    "operation-endpoint-secret",
    "The Secret that would say where a cloud resource can be reached belongs to somebody else, or the API server does \
     not accept it; the object is not ready before applications can read it there.",
);

/// Every code, for the book's reference.
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
