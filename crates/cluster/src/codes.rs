//! The codes of this crate's diagnostics.

use diag::Code;

/// Nothing says where the cluster is.
pub const CONNECTION_MISSING: Code = Code::new(
    "connection-missing",
    "Nothing says where the cluster is. Give a host with a certificate and credentials, a kubeconfig, or a path to one.",
);
/// The connection's settings contradict each other or are incomplete.
pub const CONNECTION_INVALID: Code = Code::new(
    "connection-invalid",
    "The settings that say how to reach the cluster contradict each other, are incomplete, or cannot be read.",
);
/// The exec block is incomplete.
pub const CONNECTION_EXEC_INVALID: Code = Code::new(
    "connection-exec-invalid",
    "The settings of the credential plugin are incomplete: it needs an API version and a command.",
);

/// The server does not believe who we are.
pub const AUTHENTICATION_FAILED: Code = Code::new(
    "authentication-failed",
    "The server does not believe who we are: the token or certificate has expired, is for another cluster, or could not be had.",
);
/// The server knows us and does not let us.
pub const PERMISSION_DENIED: Code = Code::new(
    "permission-denied",
    "The server knows us and does not let us. A Role or ClusterRole must grant the verb on the resource.",
);
/// The server cannot be reached, or no secure connection comes about.
pub const CONNECTION_FAILED: Code =
    Code::new("connection-failed", "The server cannot be reached, or no secure connection comes about.");
/// The object is not there.
pub const NOT_FOUND: Code =
    Code::new("object-not-found", "The object is not there; it may have been deleted outside.");
/// The object's namespace does not exist and did not appear while it was waited for.
pub const NAMESPACE_MISSING: Code = Code::new(
    "namespace-missing",
    "The object's namespace does not exist and did not appear while it was waited for.",
);
/// Other managers hold fields that would be set.
pub const FIELD_CONFLICT: Code = Code::new(
    "field-conflict",
    "Other managers hold fields that would be set. Leave the fields to them, or take them by force.",
);
/// The object changed between reading and writing it.
pub const OUTDATED: Code =
    Code::new("object-outdated", "The object changed between reading and writing it. Trying again is safe.");
/// The server did not answer in time.
pub const TIMEOUT: Code = Code::new("api-timeout", "The server did not answer in time.");
/// Fields are unknown, missing, or have values they must not have.
pub const FIELD_INVALID: Code =
    Code::new("field-invalid", "Fields are unknown, missing, or have values they must not have.");
/// Fields cannot be changed once the object exists.
pub const FIELD_IMMUTABLE: Code = Code::new(
    "field-immutable",
    "Fields cannot be changed once the object exists; only a new object can have them.",
);
/// A validation rule (CEL) of the CRD is broken.
pub const RULE_BROKEN: Code = Code::new("rule-broken", "A validation rule (CEL) of the CRD is broken.");
/// The server refuses the object.
pub const OBJECT_INVALID: Code = Code::new("object-invalid", "The server refuses the object.");
/// There is an object of this name already.
pub const ALREADY_EXISTS: Code =
    Code::new("object-already-exists", "There is an object of this name already.");
/// A kind that Kubernetes comes with was written with an API group that does not have it.
pub const GROUP_WRONG: Code = Code::new(
    "group-wrong",
    "A kind that Kubernetes comes with was written with an API group that does not have it.",
);
/// The cluster has no such kind.
pub const KIND_MISSING: Code = Code::new(
    "kind-missing",
    "The cluster has no such kind: its CRD is not installed, or group, version or kind are misspelt.",
);
/// The server failed in a way that has no name of its own.
pub const API_ERROR: Code = Code::new("api-error", "The server failed in a way that has no name of its own.");
/// An object cannot go because finalizers wait for somebody to do something first.
pub const DELETION_BLOCKED: Code = Code::new(
    "deletion-blocked",
    "An object cannot go because finalizers wait for somebody to do something first.",
);
/// Finalizers were taken away.
pub const DELETION_FORCED: Code = Code::new(
    "deletion-forced",
    "An object's finalizers were taken away because it did not go by itself. What they were there for has not been done.",
);
/// An object did not go in time.
pub const DELETION_TIMEOUT: Code = Code::new("deletion-timeout", "An object did not go in time.");
/// The server did what was asked and wants its author to know something.
pub const API_WARNING: Code =
    Code::new("api-warning", "The server did what was asked and wants its author to know something.");

/// All codes, for the book's reference.
pub const CODES: &[Code] = &[
    CONNECTION_MISSING,
    CONNECTION_INVALID,
    CONNECTION_EXEC_INVALID,
    AUTHENTICATION_FAILED,
    PERMISSION_DENIED,
    CONNECTION_FAILED,
    NOT_FOUND,
    NAMESPACE_MISSING,
    FIELD_CONFLICT,
    OUTDATED,
    TIMEOUT,
    FIELD_INVALID,
    FIELD_IMMUTABLE,
    RULE_BROKEN,
    OBJECT_INVALID,
    ALREADY_EXISTS,
    GROUP_WRONG,
    KIND_MISSING,
    API_ERROR,
    DELETION_BLOCKED,
    DELETION_FORCED,
    DELETION_TIMEOUT,
    API_WARNING,
];
