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
    ALREADY_EXISTS = "object-exists-unmanaged", "The object exists and was not created by this provider; import it to manage it.";
    ALREADY_MANAGED = "object-already-managed", "The object belongs to another resource of this provider.";
    OWNERSHIP_CONFLICT = "object-ownership-conflict", "Another resource has taken the object over.";
    ANNOTATIONS_MISSING = "object-annotations-missing", "The annotations by which an object knows its resource are gone.";
    STALE_READ = "object-stale-read", "The object could not be read with the credentials in the state.";
    PROJECTION_FAILED = "object-projection-failed", "The managedFields of an object are not what the API defines.";
    PROJECTION_PENDING = "object-projection-pending", "The object was applied, but its managedFields could not be read.";
    INTERRUPTED = "object-interrupted", "Terraform was stopped before the work was done.";
    DELETE_PROTECTION = "object-delete-protection", "The object is protected against deletion by its resource.";
    IMPORT_ID = "object-import-id", "An import id is `context:namespace:apiVersion/Kind:name`.";
    IMPORT_FAILED = "object-import-failed", "The object to import could not be found or read.";
    IMPORT_MANAGED = "object-import-managed", "The imported object belongs to another resource of this provider.";
    STATE_NEWER = "object-state-newer", "The state was written by a newer provider.";
    STATE_UNREADABLE = "object-state-unreadable", "The state was written by a provider that is too old.";
    MOVE_UNREADABLE = "object-move-unreadable", "The state of the resource to take over is not what its provider writes.";
    INPUT_CHOICE = "manifests-input-choice", "Manifests come from exactly one of `content`, `pattern` and `kustomize_path`.";
    INPUT_UNKNOWN = "manifests-input-unknown", "Manifests cannot be divided before they are known.";
    LOADING = "manifests-loading", "Manifests could not be found or read.";
    NO_KIND = "manifests-no-kind", "A document without `kind` is no Kubernetes object.";
    DUPLICATE_MANIFEST = "manifests-duplicate", "Two manifests name the same object.";
    KUSTOMIZE_WARNING = "manifests-kustomize-warning", "The program that built a kustomization wants its author to know something.";
    INVALID_KIND = "reference-invalid-kind", "A kind is named by its API version and its name.";
    DATA_ABSENT = "data-absent", "The object that a data source reads does not exist.";
    PATCH_CHOICE = "patch-choice", "A patch is exactly one of `patch`, `json_patch` and `merge_patch`.";
    PATCH_UNREADABLE = "patch-unreadable", "`patch` is YAML or JSON, `json_patch` and `merge_patch` are JSON.";
    PATCH_INVALID = "patch-invalid", "A patch says something that its kind does not allow.";
    PATCH_SERVER_MANAGED = "patch-server-managed", "An operation is about a field that the API server sets itself.";
    PATCH_OWN = "patch-own", "The target of a patch is managed by a `k8sconnect_object`.";
    PATCH_FIGHT = "patch-fight", "Somebody has changed what a patch set.";
    PATCH_OVERLAP = "patch-overlap", "Another patch holds the same fields.";
    PATCH_TARGET_ABSENT = "patch-target-absent", "The target of a patch does not exist.";
    PATCH_TARGET_CHANGED = "patch-target-changed", "A patch cannot become one of another object.";
    PATCH_UNRELEASED = "patch-unreleased", "A patch was forgotten without giving its fields up, because its cluster cannot be reached.";
    PATCH_IMPORT = "patch-import", "Patches cannot be imported.";
}
