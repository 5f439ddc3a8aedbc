//! The codes of this crate's diagnostics.

diag::codes! {
    "codes.md";
    pub const CODES;
    pub const NO_CONDITION = "wait-without-condition";
    pub const CONFLICT = "wait-conflict";
    pub const SHADOWED = "wait-shadowed";
    pub const INVALID_PATH = "wait-invalid-path";
    pub const OUTSIDE_STATUS = "wait-outside-status";
    pub const INVALID_TIMEOUT = "wait-invalid-timeout";
    pub const ROLLOUT_UNSUPPORTED = "wait-rollout-unsupported";
    pub const UNKNOWN_CONDITION = "wait-unknown-condition";
    pub const TIMED_OUT = "wait-timed-out";
    pub const NEVER = "wait-never";
    pub const DID_NOT_APPEAR = "wait-did-not-appear";
}
