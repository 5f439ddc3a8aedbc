//! The names of everything this crate tells people.

use diag::Code;

/// Nothing to sign with.
pub const CREDENTIALS: Code = Code::new(
    "oci-credentials",
    "The key, token or configuration file for Oracle Cloud cannot be used. Nothing was sent; files are \
     read again at the next try.",
);
/// The service does not know or not allow us.
pub const DENIED: Code = Code::new(
    "oci-denied",
    "Oracle Cloud does not accept the signature or does not allow the call. The key's fingerprint, its \
     user and the policies decide.",
);
/// The service refuses the request.
pub const REFUSED: Code =
    Code::new("oci-refused", "Oracle Cloud refuses the request, for the reason in its own words.");
/// The clocks are too far apart.
pub const CLOCK_SKEW: Code = Code::new(
    "oci-clock-skew",
    "This machine's clock and Oracle Cloud's are more than five minutes apart, so that every signature \
     is refused.",
);
/// No connection.
pub const UNREACHABLE: Code =
    Code::new("oci-unreachable", "No connection to Oracle Cloud comes about. Nothing was sent.");
/// No answer.
pub const NO_ANSWER: Code = Code::new(
    "oci-no-answer",
    "A request was sent and no answer came. It may have had its effect, so the resource is looked at \
     before anything is repeated.",
);
/// Not sent in time.
pub const NOT_SENT: Code = Code::new(
    "oci-not-sent",
    "A request was not sent, because the limit for its region or the time in which sending was right did \
     not allow it.",
);
/// An answer that makes no sense.
pub const BAD_ANSWER: Code = Code::new(
    "oci-bad-answer",
    "An answer is no JSON, incomplete, without a header it must have, or of another shape; a proxy in \
     between is a usual cause.",
);

/// Every code, for the book's reference.
pub const CODES: &[Code] =
    &[CREDENTIALS, DENIED, REFUSED, CLOCK_SKEW, UNREACHABLE, NO_ANSWER, NOT_SENT, BAD_ANSWER];
