//! The codes of what the operator reports to the person who runs it.

diag::codes! {
    "codes.md";
    pub const CODES;
    pub const RIVAL = "operator-rival";
    pub const LISTEN = "operator-listen";
    pub const DEFINITION = "operator-definition";
    pub const CONTROLLER_ENDED = "operator-controller-ended";
}
