//! The codes of this crate's diagnostics.

diag::codes! {
    "codes.md";
    pub const CODES;
    pub const IGNORE_FIELD_SYNTAX = "ignore-field-syntax";
    pub const IGNORE_FIELD_INTERNAL = "ignore-field-internal";
}
