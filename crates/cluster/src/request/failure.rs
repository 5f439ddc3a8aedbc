//! Classifies a failed attempt: how it failed, and whether a retry may succeed.

use std::sync::Arc;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use hyper_util::client::legacy;
use manifest::JsonError;

use crate::connect::{TransportError, caused_by};
use crate::error::{ErrorKind, ResponseLimit};
use crate::retry::Retryable;
use crate::status::ApiStatus;

/// How an attempt failed, and whether a retry may succeed.
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) retryable: Retryable,
    pub(super) retry_after: Option<Duration>,
}

impl Failure {
    /// A failure that a retry will not fix.
    pub(super) fn permanent(kind: ErrorKind) -> Self {
        Self { kind, retryable: Retryable::Never, retry_after: None }
    }
}

/// The error for a response body that does not parse.
pub(crate) fn unreadable(error: JsonError) -> ErrorKind {
    match error {
        JsonError::Malformed(error) => ErrorKind::BrokenResponse(Arc::new(error)),
        JsonError::TooDeep { levels } => ErrorKind::ResponseTooLarge(ResponseLimit::Levels(levels)),
    }
}

/// Classifies an HTTP error response.
pub(super) fn rejection(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
    let header = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let (kind, message, seconds) = match ApiStatus::parse(code.as_u16(), body) {
        Some(status) => {
            let message = status.message.clone();
            let seconds = Some(status.details.retry_after_seconds).filter(|seconds| *seconds > 0);
            (ErrorKind::Status(status), message, seconds)
        }
        None => (
            ErrorKind::UnexpectedResponse { code: code.as_u16(), excerpt: excerpt(body) },
            String::new(),
            None,
        ),
    };
    let retry_after = header.or(seconds).map(Duration::from_secs);
    Failure { kind, retryable: Retryable::of_response(code, &message), retry_after }
}

/// Classifies an attempt that got no response.
pub(super) fn no_response(error: kube::Error) -> Failure {
    let error: Box<dyn std::error::Error + Send + Sync> = match error {
        kube::Error::Service(inner) => inner,
        other => other.into(),
    };
    let (kind, retryable) = match error.downcast::<TransportError>() {
        Err(other) => (ErrorKind::BrokenResponse(other.into()), Retryable::IfIdempotent),
        Ok(error) => match *error {
            TransportError::Credentials(error) => (ErrorKind::Credentials(error), Retryable::Never),
            TransportError::Identity(error) => (ErrorKind::Credentials(Arc::new(error)), Retryable::Never),
            TransportError::Http(error) => classify_http(error),
        },
    };
    Failure { kind, retryable, retry_after: None }
}

fn classify_http(error: legacy::Error) -> (ErrorKind, Retryable) {
    if !error.is_connect() {
        return (ErrorKind::BrokenResponse(Arc::new(error)), Retryable::IfIdempotent);
    }
    if caused_by::<rustls::Error>(&error).is_some() {
        return (ErrorKind::Tls(Arc::new(error)), Retryable::Never);
    }
    // A server that is starting refuses or resets connections. An address that times out or does not resolve is wrong.
    let passing = caused_by::<std::io::Error>(&error).is_some_and(|error| {
        use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        matches!(error.kind(), ConnectionRefused | ConnectionReset | ConnectionAborted)
    });
    let retryable = if passing { Retryable::Always } else { Retryable::Never };
    (ErrorKind::Unreachable(Arc::new(error)), retryable)
}

/// The first line of a response that is not JSON, if it is text.
fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(400)]);
    let line = text.lines().next().unwrap_or_default().trim();
    if line.contains('<') || line.contains('\u{fffd}') {
        String::new()
    } else {
        line.chars().take(200).collect()
    }
}
