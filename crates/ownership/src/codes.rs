//! The codes of this crate's diagnostics.

diag::codes! {
    "codes.md";
    pub const CODES;
    pub(crate) const DRIFT = "ownership-drift";
    pub(crate) const TAKING = "ownership-taking";
    pub(crate) const OVERWRITING = "ownership-overwriting";
    pub(crate) const TAKEOVER = "ownership-takeover";
    pub(crate) const FIGHTING = "patch-fight";
    pub(crate) const NOT_KEPT = "ownership-not-kept";
}
