//! The codes of this crate's diagnostics.

diag::codes! {
    "codes.md";
    pub const CODES;
    pub const NOT_ASKED = "not-asked";
}
