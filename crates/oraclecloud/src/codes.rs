//! The codes of failed calls to Oracle Cloud.

diag::codes! {
    "codes.md";
    pub const CODES;
    pub const CREDENTIALS = "oci-credentials";
    pub const DENIED = "oci-denied";
    pub const REFUSED = "oci-refused";
    pub const CLOCK_SKEW = "oci-clock-skew";
    pub const UNREACHABLE = "oci-unreachable";
    pub const NO_ANSWER = "oci-no-answer";
    pub const NOT_SENT = "oci-not-sent";
    pub const BAD_ANSWER = "oci-bad-answer";
}
