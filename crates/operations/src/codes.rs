//! The codes of what an operation reports.

diag::codes! {
    "codes.md";
    pub const CODES;
    pub const ANNOTATION_VALUE = "operation-annotation-value";
    pub const PHASE_CONTRADICTED = "operation-phase-contradicted";
    pub const OPERATION_FAILED = "operation-failed";
    pub const OPERATION_STALLED = "operation-stalled";
    pub const DEADLINE_EXCEEDED = "operation-deadline-exceeded";
    pub const AVAILABLE = "operation-available";
    pub const OPERATION_STARTED = "operation-started";
    pub const RETRYING = "operation-retrying";
    pub const SEVERAL_OWNED = "operation-several-owned";
    pub const CREDENTIALS_NOT_KEPT = "operation-credentials-not-kept";
    pub const ENDPOINT_SECRET = "operation-endpoint-secret";
}
