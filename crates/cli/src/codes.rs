//! The diagnostic codes of the commands themselves; the crates below have their own.

diag::codes! {
    "codes.md";
    pub(crate) const CODES;
    pub(crate) const ENVIRONMENT = "environment";
    pub(crate) const FORMAT_UNSUPPORTED = "format-unsupported";
    pub(crate) const EXEC_NO_COMMAND = "exec-no-command";
    pub(crate) const FUNCTION_NOT_SERVED = "function-not-served";
    pub(crate) const DEMO_UNTRUE = "demo-untrue";
    pub(crate) const KIND_UNKNOWN = "kind-unknown";
    pub(crate) const OBJECT_MISSING = "object-missing";
    pub(crate) const OBJECT_GOING = "object-going";
    pub(crate) const OBJECT_AMBIGUOUS = "object-ambiguous";
    pub(crate) const OBJECTS_UNCLEAR = "objects-unclear";
    pub(crate) const FIELD_UNKNOWN = "field-unknown";
    pub(crate) const MANAGER_UNKNOWN = "manager-unknown";
    pub(crate) const OWNERSHIP_UNREADABLE = "ownership-unreadable";
    pub(crate) const FILE_UNREADABLE = "file-unreadable";
    pub(crate) const NAME_GENERATED = "name-generated";
    pub(crate) const OBJECT_TWICE = "object-twice";
    pub(crate) const NAMESPACE_OTHER = "namespace-other";
    pub(crate) const KUSTOMIZE_MISSING = "kustomize-missing";
    pub(crate) const KUSTOMIZE_FAILED = "kustomize-failed";
    pub(crate) const NOTHING_APPLIED = "nothing-applied";
    pub(crate) const INTERRUPTED = "interrupted";
    pub(crate) const REPORT_UNWRITABLE = "report-unwritable";
    pub(crate) const RENDER_INPUT = "render-input";
    pub(crate) const RENDER_FUNCTION = "render-function";
    pub(crate) const OPTION_UNUSABLE = "option-unusable";
    pub(crate) const SERVER_NOT_STARTED = "server-not-started";
    pub(crate) const CERTS_FAILED = "certs-failed";
    pub(crate) const APPLYSET_LABEL = "applyset-label";
    pub(crate) const APPLYSET_PARENT = "applyset-parent";
    pub(crate) const APPLYSET_FOREIGN = "applyset-foreign";
    pub(crate) const APPLYSET_KEPT = "applyset-kept";
    pub(crate) const MIGRATION_BLOCKED = "migration-blocked";
    pub(crate) const MIGRATION_STUCK = "migration-stuck";
    pub(crate) const INSTALLED_BY_HELM = "installed-by-helm";
    pub(crate) const INSTALLED_ELSEWHERE = "installed-elsewhere";
    pub(crate) const DEFINITIONS_IN_USE = "definitions-in-use";
    pub(crate) const PROVIDER_REPLACED = "provider-replaced";
    pub(crate) const MIRROR_NOT_SEARCHED = "mirror-not-searched";
    pub(crate) const CODE_UNKNOWN = "code-unknown";
}
