//! The codes of what the protocol layer reports itself.

diag::codes! {
    "codes.md";
    pub const CODES;
    pub(crate) const PROVIDER_PANIC = "provider-panic";
    pub(crate) const INVALID_VALUE = "terraform-invalid-value";
    pub(crate) const RULE_BROKEN = "terraform-rule-broken";
    pub(crate) const UNKNOWN_TYPE = "terraform-unknown-type";
    pub(crate) const NO_UPGRADE = "state-upgrade-missing";
    pub(crate) const UNREADABLE_STATE = "state-unreadable";
    pub(crate) const NO_IMPORT = "import-not-supported";
    pub(crate) const NO_MOVE = "move-not-supported";
    pub(crate) const PRIVATE_STATE = "private-state-unreadable";
    pub(crate) const IDENTITY_CHANGED = "identity-changed";
    pub(crate) const MISSING_STATE = "state-missing";
    pub(crate) const INTERRUPTED = "terraform-interrupted";
    pub(crate) const WRITE_ONLY = "write-only-unsupported";
    pub(crate) const DEPRECATED = "attribute-deprecated";
}
