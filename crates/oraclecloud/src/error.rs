//! Why a call failed, with everything that a person or a support ticket needs.

use std::fmt;
use std::time::Duration;

use diag::error_chain;
use jiff::{SignedDuration, Timestamp};
use operations::{CallError, NO_CREDENTIALS};

use crate::auth::AuthError;

/// A failed call.
#[derive(Debug)]
pub struct Error {
    /// Oracle's name of the operation: `CreateQueue`.
    pub operation: &'static str,
    pub kind: ErrorKind,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.kind)
    }
}

/// The kind is part of the message, so the next in the chain is its cause.
impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.kind)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ErrorKind {
    /// Nothing was sent.
    #[error("not sent: no usable credentials")]
    Credentials(#[from] AuthError),
    /// Nothing was sent.
    #[error("not sent: the rate limit for region {region} would delay it by more than {}", seconds(*deadline))]
    Throttled { region: String, deadline: Duration },
    /// Nothing was sent.
    #[error("not sent: the deadline for sending it, {not_after}, has passed")]
    TooLate { not_after: Timestamp },
    /// Nothing was sent.
    #[error("not sent: the credentials changed during the call")]
    IdentityChanged,
    /// Nothing was sent.
    #[error("{host} cannot be reached")]
    Unreachable { host: String, source: hyper_util::client::legacy::Error },
    /// The call may have taken effect.
    #[error("the connection to {host} broke before a response arrived")]
    Interrupted { host: String, source: hyper_util::client::legacy::Error },
    /// The call may have taken effect.
    #[error("no response within {}", seconds(*.0))]
    Timeout(Duration),
    /// A response arrived, and it is not the one asked for.
    #[error("{0}")]
    Response(Box<BadResponse>),
    #[error("the listing does not end after {0} pages")]
    EndlessListing(usize),
}

/// A response that is not the one asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadResponse {
    /// The HTTP status.
    pub status: u16,
    /// `opc-request-id`.
    pub request_id: Option<String>,
    pub retry_after: Option<Duration>,
    pub problem: Problem,
}

/// What is wrong with a response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The service refuses the request, in its own words.
    #[error("{code}: {message}")]
    Refused {
        /// Such as `NotAuthorizedOrNotFound`.
        code: String,
        message: String,
    },
    /// Our clock differs from the server's by more than a signature may be old.
    #[error(
        "this machine's clock is {} the server's, and signatures are refused beyond 5 minutes; set the clock ({message})",
        apart(*ahead)
    )]
    ClockSkew {
        /// How far our clock is ahead; negative when it is behind.
        ahead: SignedDuration,
        /// The service's message.
        message: String,
    },
    /// For example the error page of a proxy.
    #[error("the response is {content_type}, not JSON; it begins with `{excerpt}`")]
    NotJson { content_type: String, excerpt: String },
    #[error("the response is truncated")]
    Truncated,
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the response is JSON, but not {0}")]
    Shape(&'static str),
}

impl fmt::Display for BadResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.problem)?;
        match &self.request_id {
            Some(id) => write!(f, " (request {id})"),
            None => Ok(()),
        }
    }
}

impl Error {
    /// The response, if one arrived.
    pub fn response(&self) -> Option<&BadResponse> {
        match &self.kind {
            ErrorKind::Response(response) => Some(response),
            _ => None,
        }
    }

    /// The service's error code; empty if there is none.
    pub fn code(&self) -> &str {
        match self.response().map(|response| &response.problem) {
            Some(Problem::Refused { code, .. }) => code,
            _ => "",
        }
    }
}

/// What the operator decides on. An error without a response has no status and counts as transient, unless there are no
/// credentials to call with.
impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        let Error { operation, kind } = error;
        match kind {
            ErrorKind::Response(response) => {
                let BadResponse { status, request_id, retry_after, problem } = *response;
                let (code, message) = match problem {
                    Problem::Refused { code, message } => (code, message),
                    other => (String::new(), format!("{operation}: {other}")),
                };
                Self { status: Some(status), code, message, request_id, retry_after }
            }
            other => {
                let message = format!("{operation}: {}", error_chain(&other));
                let denied = matches!(&other, ErrorKind::Credentials(error) if !error.is_transient());
                let code = if denied { NO_CREDENTIALS } else { "" };
                Self { code: code.to_owned(), message, ..Self::default() }
            }
        }
    }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

fn apart(ahead: SignedDuration) -> String {
    let minutes = ahead.abs().as_secs() / 60;
    let direction = if ahead.is_negative() { "behind" } else { "ahead of" };
    format!("{minutes} min {direction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, problem: Problem) -> Error {
        let response = BadResponse {
            status,
            request_id: Some("A/B/C".to_owned()),
            retry_after: Some(Duration::from_secs(7)),
            problem,
        };
        Error { operation: "GetQueue", kind: ErrorKind::Response(Box::new(response)) }
    }

    #[test]
    fn an_error_names_the_operation_and_the_request() {
        let check = |error: Error, expected: &str| assert_eq!(error.to_string(), expected);
        let refused =
            Problem::Refused { code: "NotAuthorizedOrNotFound".into(), message: "no such queue".into() };
        check(response(404, refused), "GetQueue: 404 NotAuthorizedOrNotFound: no such queue (request A/B/C)");
        check(response(200, Problem::Truncated), "GetQueue: 200 the response is truncated (request A/B/C)");
        let skew = Problem::ClockSkew { ahead: SignedDuration::from_mins(-12), message: "date".into() };
        check(
            response(401, skew),
            "GetQueue: 401 this machine's clock is 12 min behind the server's, and signatures are refused beyond 5 \
             minutes; set the clock (date) (request A/B/C)",
        );
        let timeout = Error { operation: "GetQueue", kind: ErrorKind::Timeout(Duration::from_millis(1500)) };
        check(timeout, "GetQueue: no response within 1.5 s");
    }

    #[test]
    fn a_call_error_keeps_status_code_request_id_and_retry_after() {
        let refused = Problem::Refused { code: "TooManyRequests".into(), message: "slow down".into() };
        let call = CallError::from(response(429, refused));
        assert_eq!(call.to_string(), "429 TooManyRequests: slow down");
        assert_eq!(call.request_id.as_deref(), Some("A/B/C"));
        assert_eq!(call.retry_after, Some(Duration::from_secs(7)));
        let unsigned = Error { operation: "GetQueue", kind: AuthError::KeyId.into() };
        let call = CallError::from(unsigned);
        assert_eq!((call.status, call.code.as_str()), (None, NO_CREDENTIALS));
        assert_eq!(
            call.message,
            "GetQueue: not sent: no usable credentials: tenancy, user, fingerprint or token contains \
             invalid characters"
        );
    }
}
