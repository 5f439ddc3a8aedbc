//! The codes of what this crate finds in XRDs, Compositions and Functions.

diag::codes! {
    "codes.md";
    pub const CODES;
    pub(crate) const UNREADABLE = "composition-unreadable";
    pub(crate) const WRONG_KIND = "composition-wrong-kind";
    pub(crate) const DEFINITION_NAME = "definition-name";
    pub(crate) const DEFINITION_NAMES = "definition-names";
    pub(crate) const DEFINITION_GROUP = "definition-group";
    pub(crate) const DEFINITION_SCOPE = "definition-scope";
    pub(crate) const DEFINITION_VERSIONS = "definition-versions";
    pub(crate) const DEFINITION_SCHEMA = "definition-schema";
    pub(crate) const DEFINITION_SCHEMA_DROPPED = "definition-schema-dropped";
    pub(crate) const DEFINITION_CONVERSION = "definition-conversion";
    pub(crate) const COMPOSITION_MODE = "composition-mode";
    pub(crate) const COMPOSITION_PIPELINE = "composition-pipeline";
    pub(crate) const COMPOSITION_CREDENTIALS = "composition-credentials";
    pub(crate) const COMPOSITION_REQUIREMENT = "composition-requirement";
    pub(crate) const FUNCTION_PACKAGE = "function-package";
    pub(crate) const FUNCTION_NOT_RUNNING = "function-not-running";
}
