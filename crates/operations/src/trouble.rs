//! What can go wrong with a call, and what each of it proves.

use std::fmt;
use std::time::Duration;

/// The code of a call that was not made because there are no credentials to make it with. Asking again at once helps
/// as little as after a refusal.
pub const NO_CREDENTIALS: &str = "NoCredentials";

/// A call that did not bring the answer it asked for, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The HTTP status; nothing when no readable answer came (a timeout, a reset, a truncated body).
    pub status: Option<u16>,
    /// The provider's word for it, such as `NotAuthorizedOrNotFound`; may be empty.
    pub code: String,
    /// What happened, for people; without secrets.
    pub message: String,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// When the provider wants to be asked again.
    pub retry_after: Option<Duration>,
}

/// What trouble means for the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It passes; the call may or may not have had its effect.
    Passing,
    /// The resource is busy or was changed meanwhile; look again.
    Busy,
    /// Missing, or not for our eyes; it proves neither.
    Unclear,
    /// We are not known or not allowed.
    Denied,
    /// The retry token cannot be used again.
    TokenSpent,
    /// The request itself is not acceptable, and had no effect.
    Rejected,
}

impl Trouble {
    /// What the trouble means.
    ///
    /// `404 NotAuthorizedOrNotFound` is what the provider says for a missing resource and for a missing right alike,
    /// and `404 NotFound` says that the address is wrong, so no 404 proves absence.
    pub fn verdict(&self) -> Verdict {
        match (self.status, self.code.as_str()) {
            (None, NO_CREDENTIALS) | (Some(401 | 403), _) => Verdict::Denied,
            (None | Some(408 | 425 | 429), _) => Verdict::Passing,
            (Some(404), _) => Verdict::Unclear,
            (Some(409), "InvalidatedRetryToken") => Verdict::TokenSpent,
            (Some(409), "NotAuthorizedOrResourceAlreadyExists") | (Some(501), _) => Verdict::Rejected,
            (Some(409 | 412), _) => Verdict::Busy,
            (Some(400..=499), _) => Verdict::Rejected,
            // A success whose body cannot be read, a redirect and a failing server have this in common: asking
            // again may help, and nothing is known of the effect.
            (Some(_), _) => Verdict::Passing,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, self.code.as_str()) {
            (Some(status), "") => write!(f, "{status}: {}", self.message),
            (Some(status), code) => write!(f, "{status} {code}: {}", self.message),
            (None, "") => f.write_str(&self.message),
            (None, code) => write!(f, "{code}: {}", self.message),
        }
    }
}

impl std::error::Error for Trouble {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_of_the_error_matrix_has_a_verdict() {
        let check = |verdict: Verdict, rows: &[(Option<u16>, &str)]| {
            for (status, code) in rows {
                let trouble = Trouble {
                    status: *status,
                    code: (*code).to_owned(),
                    message: String::new(),
                    request_id: None,
                    retry_after: None,
                };
                assert_eq!(trouble.verdict(), verdict, "{status:?} {code}");
            }
        };
        check(
            Verdict::Passing,
            &[
                (None, ""),
                (Some(408), ""),
                (Some(429), "TooManyRequests"),
                (Some(500), "InternalServerError"),
                (Some(502), ""),
                (Some(503), "ServiceUnavailable"),
                (Some(503), "ExternalServerUnreachable"),
                (Some(504), ""),
                (Some(200), ""),
                (Some(302), ""),
            ],
        );
        check(
            Verdict::Rejected,
            &[
                (Some(400), "CannotParseRequest"),
                (Some(400), "InvalidParameter"),
                (Some(400), "MissingParameter"),
                (Some(400), "LimitExceeded"),
                (Some(400), "QuotaExceeded"),
                (Some(400), "RelatedResourceNotAuthorizedOrNotFound"),
                (Some(402), "SignUpRequired"),
                (Some(405), "MethodNotAllowed"),
                (Some(409), "NotAuthorizedOrResourceAlreadyExists"),
                (Some(413), ""),
                (Some(422), "UnprocessableEntity"),
                (Some(431), ""),
                (Some(501), "MethodNotImplemented"),
            ],
        );
        check(
            Verdict::Denied,
            &[
                (Some(401), "NotAuthenticated"),
                (Some(403), "NotAuthorized"),
                (Some(403), ""),
                (None, NO_CREDENTIALS),
            ],
        );
        check(
            Verdict::Unclear,
            &[
                (Some(404), "NotFound"),
                (Some(404), "NotAuthorizedOrNotFound"),
                (Some(404), "InvalidParameter"),
                (Some(404), "NamespaceNotFound"),
                (Some(404), ""),
            ],
        );
        check(
            Verdict::Busy,
            &[
                (Some(409), "IncorrectState"),
                (Some(409), "ExternalServerIncorrectState"),
                (Some(409), "LockConflict"),
                (Some(412), "NoEtagMatch"),
            ],
        );
        check(Verdict::TokenSpent, &[(Some(409), "InvalidatedRetryToken")]);
    }
}
