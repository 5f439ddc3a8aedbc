//! The names of everything this crate itself has to tell users.

use diag::Code;

macro_rules! codes {
    ($($name:ident = $code:literal, $about:literal;)*) => {
        $(pub(crate) const $name: Code = Code::new($code, $about);)*

        /// All of them, for the reference in the book.
        pub const CODES: &[Code] = &[$($name),*];
    };
}

codes! {
    INVALID_URL = "connection-invalid-url", "An address is a URL with a scheme, such as `https://host:6443`.";
    INVALID_KUBECONFIG = "connection-invalid-kubeconfig", "`kubeconfig` is the content of a kubeconfig file, which is YAML.";
    CLUSTER_EMPTY = "connection-empty", "A `cluster` in which nothing is set says nothing; set something or leave it out.";
    INVALID_VERBOSITY = "provider-invalid-verbosity", "`managed_fields_verbosity` is `full`, `minimal` or `none`.";
    CONNECTION_ABSENT = "connection-absent", "Neither the resource nor the provider says where the cluster is.";
    INVALID_YAML = "object-invalid-yaml", "`yaml_body` is one Kubernetes object in YAML.";
    INTERNAL_ANNOTATION = "object-internal-annotation", "Annotations of the provider are set by the provider alone.";
    SERVER_MANAGED = "object-server-managed", "Some fields are set by the API server alone and cannot be written.";
    INVALID_DURATION = "object-invalid-duration", "A duration is written like `30s`, `5m` or `1h30m`.";
    CONFLICTING_DELETION = "object-conflicting-deletion", "`delete_protection` and `force_destroy` exclude each other.";
    MISSING_FIELD = "object-missing-field", "An attribute that the resource cannot do without is null.";
    EMPTY_BODY = "object-empty-body", "`yaml_body` is an empty text.";
    UNPREPARED = "object-unprepared", "No connection to the cluster could be prepared from the settings.";
    IDENTITY_CHANGED = "object-identity-changed", "The body names another object, so the old one is deleted and a new one created.";
    IMMUTABLE_CHANGED = "object-immutable-changed", "A field was changed that only a new object can have otherwise.";
    CLUSTER_CHANGED = "object-cluster-changed", "The connection leads to another cluster than the one the object is in.";
    CLUSTER_UNPROVEN = "object-cluster-unproven", "Whether a new connection leads to the same cluster could not be found out.";
    NO_PREVIEW = "object-no-preview", "The API server could not say what an apply would do, because it is in trouble.";
    ALREADY_EXISTS = "object-already-exists", "The object exists and was not created by this provider; import it to manage it.";
    ALREADY_MANAGED = "object-already-managed", "The object belongs to another resource of this provider.";
    OWNERSHIP_CONFLICT = "object-ownership-conflict", "Another resource has taken the object over.";
    ANNOTATIONS_MISSING = "object-annotations-missing", "The annotations by which an object knows its resource are gone.";
    STALE_READ = "object-stale-read", "The object could not be read with the credentials in the state.";
    PROJECTION_FAILED = "object-projection-failed", "The managedFields of an object are not what the API defines.";
    PROJECTION_PENDING = "object-projection-pending", "The object was applied, but its managedFields could not be read.";
    INTERRUPTED = "object-interrupted", "Terraform was stopped before the work was done.";
    DELETE_PROTECTION = "object-delete-protection", "The object is protected against deletion by its resource.";
    FORCED = "object-forced", "An object was deleted without what its finalizers were there for.";
    IMPORT_ID = "object-import-id", "An import id is `context:namespace:apiVersion/Kind:name`.";
    IMPORT_FAILED = "object-import-failed", "The object to import could not be found or read.";
    IMPORT_MANAGED = "object-import-managed", "The imported object belongs to another resource of this provider.";
    STATE_NEWER = "object-state-newer", "The state was written by a newer provider.";
    STATE_UNREADABLE = "object-state-unreadable", "The state was written by a provider that is too old.";
    MOVE_UNREADABLE = "object-move-unreadable", "The state of the resource to take over is not what its provider writes.";
    API_WARNING = "object-api-warning", "The API server did what was asked and wants its author to know something.";
}
