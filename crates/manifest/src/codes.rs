//! The codes of what can be wrong with a text or a manifest.

diag::codes! {
    "codes.md";
    pub const CODES;
    pub const NOT_TEXT = "yaml-not-text";
    pub const SYNTAX = "yaml-syntax";
    pub const TAB = "yaml-tab";
    pub const DUPLICATE_KEY = "yaml-duplicate-key";
    pub const INVALID_KEY = "yaml-invalid-key";
    pub const ALIAS = "yaml-alias";
    pub const MERGE_KEY = "yaml-merge-key";
    pub const SCALAR = "yaml-scalar";
    pub const LIMIT = "yaml-limit";
    pub const EMPTY = "manifest-empty";
    pub const SEVERAL_DOCUMENTS = "manifest-several-documents";
    pub const SHAPE = "manifest-shape";
    pub const SERVER_FIELD = "manifest-server-field";
    pub const UNNAMED_CONTAINER = "manifest-unnamed-container";
}
