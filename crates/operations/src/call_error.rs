//! A failed call, and what each kind of failure proves.

use std::fmt;
use std::time::Duration;

/// The code of a call that was not made for lack of credentials. Like a denied call, it is not worth retrying at once.
pub const NO_CREDENTIALS: &str = "NoCredentials";

/// A failed call, as data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallError {
    /// The HTTP status; none without a readable response (a timeout, a reset, a truncated body).
    pub status: Option<u16>,
    /// The provider's error code, such as `NotAuthorizedOrNotFound`; may be empty.
    pub code: String,
    /// Contains no secrets.
    pub message: String,
    pub request_id: Option<String>,
    pub retry_after: Option<Duration>,
}

/// What a failed call means for the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallErrorKind {
    /// Worth retrying; the call may or may not have taken effect.
    Transient,
    /// The resource is busy or was changed in the meantime; read it again.
    Conflict,
    /// The resource or the permission to see it is missing; the response proves neither.
    NotFoundOrDenied,
    /// The provider does not accept who we are or what we may do.
    Denied,
    /// The retry token cannot be used again.
    RetryTokenSpent,
    /// The request is invalid and had no effect.
    Rejected,
}

impl CallError {
    /// No 404 proves absence: `NotAuthorizedOrNotFound` stands for a missing resource and for a missing permission, and
    /// `NotFound` means that the address is wrong.
    pub fn kind(&self) -> CallErrorKind {
        match (self.status, self.code.as_str()) {
            (None, NO_CREDENTIALS) | (Some(401 | 403), _) => CallErrorKind::Denied,
            (None | Some(408 | 425 | 429), _) => CallErrorKind::Transient,
            (Some(404), _) => CallErrorKind::NotFoundOrDenied,
            (Some(409), "InvalidatedRetryToken") => CallErrorKind::RetryTokenSpent,
            (Some(409), code) if code.ends_with("AlreadyExists") => CallErrorKind::Rejected,
            (Some(409 | 412), _) => CallErrorKind::Conflict,
            (Some(400..=499 | 501), _) => CallErrorKind::Rejected,
            // An unreadable success, a redirect and a failing server have this in common: a retry may help, and
            // whether the call took effect is unknown.
            (Some(_), _) => CallErrorKind::Transient,
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, self.code.as_str()) {
            (Some(status), "") => write!(f, "{status}: {}", self.message),
            (Some(status), code) => write!(f, "{status} {code}: {}", self.message),
            (None, "") => f.write_str(&self.message),
            (None, code) => write!(f, "{code}: {}", self.message),
        }
    }
}

impl std::error::Error for CallError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_error_has_its_kind() {
        let check = |kind: CallErrorKind, rows: &[(Option<u16>, &str)]| {
            for (status, code) in rows {
                let error = CallError { status: *status, code: (*code).to_owned(), ..CallError::default() };
                assert_eq!(error.kind(), kind, "{status:?} {code}");
            }
        };
        check(
            CallErrorKind::Transient,
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
            CallErrorKind::Rejected,
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
            CallErrorKind::Denied,
            &[
                (Some(401), "NotAuthenticated"),
                (Some(403), "NotAuthorized"),
                (Some(403), ""),
                (None, NO_CREDENTIALS),
            ],
        );
        check(
            CallErrorKind::NotFoundOrDenied,
            &[
                (Some(404), "NotFound"),
                (Some(404), "NotAuthorizedOrNotFound"),
                (Some(404), "InvalidParameter"),
                (Some(404), "NamespaceNotFound"),
                (Some(404), ""),
            ],
        );
        check(
            CallErrorKind::Conflict,
            &[
                (Some(409), "IncorrectState"),
                (Some(409), "ExternalServerIncorrectState"),
                (Some(409), "LockConflict"),
                (Some(412), "NoEtagMatch"),
            ],
        );
        check(CallErrorKind::RetryTokenSpent, &[(Some(409), "InvalidatedRetryToken")]);
    }
}
