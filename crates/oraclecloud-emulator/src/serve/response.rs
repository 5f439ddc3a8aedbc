//! Turns replies into HTTP responses, including those that a fault damages.

use std::convert::Infallible;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use jiff::Timestamp;
use oraclecloud::sign::http_date;
use serde_json::Value;

use crate::fault::FaultKind;
use crate::reply::{ApiError, Reply};

pub(super) type Body = UnsyncBoxBody<Bytes, Truncated>;

/// The response to send.
pub(super) fn response(
    reply: Reply,
    fault: Option<FaultKind>,
    date: Timestamp,
) -> Result<Response<Body>, Reset> {
    let mut status = reply.status;
    let mut content_type = if reply.plain { "text/plain" } else { "application/json" };
    let mut body = match reply.body {
        Some(Value::String(text)) if reply.plain => Bytes::from(text),
        Some(body) => Bytes::from(body.to_string()),
        None => Bytes::new(),
    };
    let mut headers = reply.headers;
    let truncate = fault == Some(FaultKind::Truncate);
    match fault {
        Some(FaultKind::ResetBefore | FaultKind::ResetAfter) => return Err(Reset),
        Some(FaultKind::Html(page_status)) => {
            status = StatusCode::from_u16(page_status).unwrap_or(StatusCode::BAD_GATEWAY);
            content_type = "text/html";
            body =
                Bytes::from_static(b"<html><head><title>Bad gateway</title></head><body>nginx</body></html>");
        }
        Some(FaultKind::Body(text)) => body = Bytes::from(text),
        Some(FaultKind::WithoutHeaders(names)) => {
            headers.retain(|(name, _)| !names.iter().any(|removed| removed.eq_ignore_ascii_case(name)));
        }
        Some(FaultKind::Refuse { .. } | FaultKind::SlowMillis(_) | FaultKind::Truncate) | None => {}
    }
    let (body, length) = if truncate { truncated(&body) } else { (whole(body.clone()), body.len()) };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let out = response.headers_mut();
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            out.insert(HeaderName::from_static(name), value);
        }
    }
    if length > 0 {
        out.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    if status != StatusCode::NO_CONTENT {
        out.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    if let Ok(date) = HeaderValue::try_from(http_date(date)) {
        out.insert(DATE, date);
    }
    Ok(response)
}

/// The reply to a call that a fault keeps from taking effect.
pub(super) fn refused(fault: &FaultKind) -> Reply {
    match fault {
        FaultKind::Refuse { status, code, retry_after } => {
            let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let message = "This error was injected.".to_owned();
            Reply::from(ApiError { status, code: code.clone(), message })
                .header("retry-after", retry_after.map(|seconds| seconds.to_string()))
        }
        _ => Reply::new(StatusCode::OK),
    }
}

fn whole(body: Bytes) -> Body {
    Full::new(body).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// Half of a body, and the length it announces: of an empty body, one byte that never arrives.
fn truncated(body: &Bytes) -> (Body, usize) {
    let half = body.slice(..body.len() / 2);
    let failure = async {
        // The half has to be flushed first: hyper discards it if the body fails at once.
        tokio::task::yield_now().await;
        Err(Truncated)
    };
    let frames = stream::iter([Ok(Frame::data(half))]).chain(stream::once(failure));
    (StreamBody::new(frames).boxed_unsync(), body.len().max(1))
}

/// Makes hyper drop the connection in the middle of a body.
#[derive(Debug, thiserror::Error)]
#[error("the body was truncated by a fault")]
pub(super) struct Truncated;

/// Makes hyper drop the connection without a response, which the server then resets.
#[derive(Debug, thiserror::Error)]
#[error("the connection was reset by a fault")]
pub(super) struct Reset;
