//! The codes of every diagnostic of this crate.

use diag::Code;

pub const CREDENTIALS: Code = Code::new(
    "oci-credentials",
    "The key, token or configuration file for Oracle Cloud is unusable. Nothing was sent; files are read again at the \
     next attempt.",
);
pub const DENIED: Code = Code::new(
    "oci-denied",
    "Oracle Cloud does not accept the signature or does not allow the call. Check the key's fingerprint, its user and \
     the policies.",
);
pub const REFUSED: Code =
    Code::new("oci-refused", "Oracle Cloud refuses the request for the reason that the message quotes.");
pub const CLOCK_SKEW: Code = Code::new(
    "oci-clock-skew",
    "This machine's clock and Oracle Cloud's are more than five minutes apart, so every signature is refused.",
);
pub const UNREACHABLE: Code =
    Code::new("oci-unreachable", "Oracle Cloud cannot be reached. Nothing was sent.");
pub const NO_ANSWER: Code = Code::new(
    "oci-no-answer",
    "A request was sent and no response arrived. It may have taken effect, so the resource is read before anything is \
     repeated.",
);
pub const NOT_SENT: Code = Code::new(
    "oci-not-sent",
    "A request was not sent: the rate limit of its region would have delayed it too long, or its deadline had passed.",
);
pub const BAD_ANSWER: Code = Code::new(
    "oci-bad-answer",
    "A response is not JSON, truncated, or of an unexpected shape; often a proxy in between is the cause.",
);

pub const CODES: &[Code] =
    &[CREDENTIALS, DENIED, REFUSED, CLOCK_SKEW, UNREACHABLE, NO_ANSWER, NOT_SENT, BAD_ANSWER];
