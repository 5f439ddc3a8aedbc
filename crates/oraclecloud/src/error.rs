//! What can go wrong with a call, with everything that a person or a support ticket needs.

use std::fmt;
use std::time::Duration;

use diag::Diagnostic;
use jiff::{SignedDuration, Timestamp};
use operations::{NO_CREDENTIALS, Trouble};

use crate::auth::AuthError;
use crate::codes;

/// A call that did not bring the answer it asked for.
#[derive(Debug)]
pub struct Error {
    /// Oracle's name of the operation: `CreateQueue`.
    pub operation: &'static str,
    /// What happened.
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

/// What happened to a call.
#[derive(Debug, thiserror::Error)]
pub enum ErrorKind {
    /// There are no credentials to sign with; nothing was sent.
    #[error("not sent: no usable credentials")]
    Credentials(#[from] AuthError),
    /// The limit for the region leaves no room; nothing was sent.
    #[error("not sent: the limit of requests for region {region} leaves no room within {}", seconds(*deadline))]
    Throttled {
        /// Which region.
        region: String,
        /// How long there was.
        deadline: Duration,
    },
    /// The time at which sending it was still right has passed; nothing was sent.
    #[error("not sent: it was to be sent before {not_after}")]
    TooLate {
        /// Until when.
        not_after: Timestamp,
    },
    /// No connection came about; nothing was sent.
    #[error("{host} cannot be reached")]
    Unreachable {
        /// Which host.
        host: String,
        /// Why.
        source: hyper_util::client::legacy::Error,
    },
    /// The connection broke before an answer; whether the call had its effect is not known.
    #[error("the connection to {host} broke before an answer came")]
    Interrupted {
        /// Which host.
        host: String,
        /// Why.
        source: hyper_util::client::legacy::Error,
    },
    /// No answer in time; whether the call had its effect is not known.
    #[error("no answer within {}", seconds(*.0))]
    Timeout(Duration),
    /// An answer came, and it is not the one asked for.
    #[error("{0}")]
    Answer(Box<BadAnswer>),
    /// A listing does not end.
    #[error("the listing has no end after {0} pages")]
    Endless(usize),
}

/// An answer that is not the one asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadAnswer {
    /// The HTTP status.
    pub status: u16,
    /// `opc-request-id`.
    pub request_id: Option<String>,
    /// `retry-after`.
    pub retry_after: Option<Duration>,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The service says no, in its own words.
    #[error("{code}: {message}")]
    Refused {
        /// Such as `NotAuthorizedOrNotFound`.
        code: String,
        /// The service's message.
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
    /// It is no JSON, as the page of a proxy is none.
    #[error("the answer is {content_type} and no JSON; it begins `{excerpt}`")]
    NotJson {
        /// What it says to be.
        content_type: String,
        /// Its first characters.
        excerpt: String,
    },
    /// It ends before its end.
    #[error("the answer ends before its end")]
    Truncated,
    /// It is larger than any answer should be.
    #[error("the answer has more than {0} bytes")]
    TooLarge(usize),
    /// A header is missing without which it is of no use.
    #[error("the answer has no header {0}")]
    MissingHeader(&'static str),
    /// It is JSON of another shape.
    #[error("the answer is JSON, but not {0}")]
    Shape(&'static str),
}

impl fmt::Display for BadAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.problem)?;
        match &self.request_id {
            Some(id) => write!(f, " (request {id})"),
            None => Ok(()),
        }
    }
}

impl Error {
    /// The answer, when one came.
    pub fn answer(&self) -> Option<&BadAnswer> {
        match &self.kind {
            ErrorKind::Answer(answer) => Some(answer),
            _ => None,
        }
    }

    /// The HTTP status, when an answer came.
    pub fn status(&self) -> Option<u16> {
        self.answer().map(|answer| answer.status)
    }

    /// The service's word for its refusal; empty when there is none.
    pub fn code(&self) -> &str {
        match self.answer().map(|answer| &answer.problem) {
            Some(Problem::Refused { code, .. }) => code,
            _ => "",
        }
    }

    /// The same for people who can do something about it.
    pub fn diagnostic(&self) -> Diagnostic {
        let summary = self.to_string();
        let causes = causes(&self.kind).join(": ");
        let (code, hint) = match &self.kind {
            ErrorKind::Credentials(_) => {
                (codes::CREDENTIALS, "mend the credentials; they are read again at the next try")
            }
            ErrorKind::Unreachable { .. } => {
                (codes::UNREACHABLE, "check region, endpoint override, proxy and DNS")
            }
            ErrorKind::Interrupted { .. } | ErrorKind::Timeout(_) => (
                codes::NO_ANSWER,
                "look at the resource before trying again: the call may have had its effect",
            ),
            ErrorKind::Throttled { .. } | ErrorKind::TooLate { .. } => {
                (codes::NOT_SENT, "raise --oci-qps if this goes on, as far as the tenancy's limits allow")
            }
            ErrorKind::Endless(_) => (codes::BAD_ANSWER, "check what answers at the endpoint"),
            ErrorKind::Answer(answer) => match answer.problem {
                Problem::ClockSkew { .. } => {
                    (codes::CLOCK_SKEW, "set this machine's clock, for instance with NTP")
                }
                Problem::Refused { .. } if matches!(answer.status, 401 | 403) => (
                    codes::DENIED,
                    "check that the key belongs to the user and that a policy allows the call",
                ),
                Problem::Refused { .. } => {
                    (codes::REFUSED, "correct the request; Oracle's support asks for the request id")
                }
                _ => (codes::BAD_ANSWER, "check what answers at the endpoint, and any proxy on the way"),
            },
        };
        Diagnostic::error(code, summary).detail(causes).hint(hint)
    }
}

/// What the operator's decisions rest on. Of trouble without an answer no status is known, so that it counts
/// as passing, unless there is nothing to ask with.
impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        let Error { operation, kind } = error;
        match kind {
            ErrorKind::Answer(answer) => {
                let BadAnswer { status, request_id, retry_after, problem } = *answer;
                let (code, message) = match problem {
                    Problem::Refused { code, message } => (code, message),
                    other => (String::new(), format!("{operation}: {other}")),
                };
                Self { status: Some(status), code, message, request_id, retry_after }
            }
            other => {
                let mut message = vec![format!("{operation}: {other}")];
                message.extend(causes(&other));
                let has_none = matches!(&other, ErrorKind::Credentials(error) if !error.is_passing());
                let code = if has_none { NO_CREDENTIALS } else { "" };
                Self {
                    status: None,
                    code: code.to_owned(),
                    message: message.join(": "),
                    request_id: None,
                    retry_after: None,
                }
            }
        }
    }
}

/// What the causes say, the nearest first; none of them twice, since some libraries repeat their source.
fn causes(kind: &ErrorKind) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut cause = std::error::Error::source(kind);
    while let Some(error) = cause {
        let text = error.to_string();
        if !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
        cause = error.source();
    }
    texts
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

    fn answer(status: u16, problem: Problem) -> Error {
        let answer = BadAnswer {
            status,
            request_id: Some("A/B/C".to_owned()),
            retry_after: Some(Duration::from_secs(7)),
            problem,
        };
        Error { operation: "GetQueue", kind: ErrorKind::Answer(Box::new(answer)) }
    }

    #[test]
    fn an_error_says_what_and_names_the_request() {
        let check = |error: Error, expected: &str| assert_eq!(error.to_string(), expected);
        let refused =
            Problem::Refused { code: "NotAuthorizedOrNotFound".into(), message: "no such queue".into() };
        check(answer(404, refused), "GetQueue: 404 NotAuthorizedOrNotFound: no such queue (request A/B/C)");
        check(
            answer(200, Problem::Truncated),
            "GetQueue: 200 the answer ends before its end (request A/B/C)",
        );
        let skew = Problem::ClockSkew { ahead: SignedDuration::from_mins(-12), message: "date".into() };
        check(
            answer(401, skew),
            "GetQueue: 401 this machine's clock is 12 min behind the server's, and signatures are refused beyond 5 \
             minutes; set the clock (date) (request A/B/C)",
        );
        let timeout = Error { operation: "GetQueue", kind: ErrorKind::Timeout(Duration::from_millis(1500)) };
        check(timeout, "GetQueue: no answer within 1.5 s");
    }

    #[test]
    fn trouble_keeps_status_code_request_id_and_pause() {
        let refused = Problem::Refused { code: "TooManyRequests".into(), message: "slow down".into() };
        let trouble = Trouble::from(answer(429, refused));
        assert_eq!(trouble.to_string(), "429 TooManyRequests: slow down");
        assert_eq!(trouble.request_id.as_deref(), Some("A/B/C"));
        assert_eq!(trouble.retry_after, Some(Duration::from_secs(7)));
        let unsigned = Error { operation: "GetQueue", kind: AuthError::KeyId.into() };
        let trouble = Trouble::from(unsigned);
        assert_eq!((trouble.status, trouble.code.as_str()), (None, NO_CREDENTIALS));
        assert_eq!(
            trouble.message,
            "GetQueue: not sent: no usable credentials: tenancy, user, fingerprint or token has characters that \
             cannot be sent"
        );
    }

    #[test]
    fn a_diagnostic_says_what_to_do() {
        let check = |error: Error, code: diag::Code| {
            let diagnostic = error.diagnostic();
            assert_eq!(diagnostic.code, code);
            assert!(diagnostic.hint.is_some());
        };
        let refused = |code: &str| Problem::Refused { code: code.into(), message: "m".into() };
        check(answer(401, refused("NotAuthenticated")), codes::DENIED);
        check(answer(400, refused("InvalidParameter")), codes::REFUSED);
        check(
            answer(502, Problem::NotJson { content_type: "text/html".into(), excerpt: "<html>".into() }),
            codes::BAD_ANSWER,
        );
        check(Error { operation: "GetQueue", kind: AuthError::KeyId.into() }, codes::CREDENTIALS);
        check(Error { operation: "GetQueue", kind: ErrorKind::Timeout(Duration::ZERO) }, codes::NO_ANSWER);
    }
}
