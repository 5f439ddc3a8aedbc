//! The codes of this crate's diagnostics.

diag::codes! {
    "codes.md";
    pub const CODES;
    pub const CONNECTION_MISSING = "connection-missing";
    pub const CONNECTION_INVALID = "connection-invalid";
    pub const CONNECTION_EXEC_INVALID = "connection-exec-invalid";
    pub const AUTHENTICATION_FAILED = "authentication-failed";
    pub const PERMISSION_DENIED = "permission-denied";
    pub const CONNECTION_FAILED = "connection-failed";
    pub const NOT_FOUND = "object-not-found";
    pub const NAMESPACE_MISSING = "namespace-missing";
    pub const FIELD_CONFLICT = "field-conflict";
    pub const OUTDATED = "object-outdated";
    pub const TIMEOUT = "api-timeout";
    pub const FIELD_INVALID = "field-invalid";
    pub const FIELD_IMMUTABLE = "field-immutable";
    pub const RULE_BROKEN = "rule-broken";
    pub const OBJECT_INVALID = "object-invalid";
    pub const ALREADY_EXISTS = "object-already-exists";
    pub const GROUP_WRONG = "group-wrong";
    pub const KIND_MISSING = "kind-missing";
    pub const API_ERROR = "api-error";
    pub const DELETION_BLOCKED = "deletion-blocked";
    pub const DELETION_FORCED = "deletion-forced";
    pub const DELETION_TIMEOUT = "deletion-timeout";
    pub const API_WARNING = "api-warning";
}
