//! Turns replies into HTTP responses, including those that a fault damages.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body::Frame;
use jiff::Timestamp;
use oraclecloud::sign::http_date;
use serde_json::Value;

use crate::fault::FaultKind;
use crate::reply::{ApiError, Reply};

/// The response to send; an error resets the connection.
pub(super) fn response(
    reply: Reply,
    fault: Option<FaultKind>,
    date: Timestamp,
) -> Result<Response<Body>, Dropped> {
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
        Some(FaultKind::ResetBefore | FaultKind::ResetAfter) => return Err(Dropped),
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
    let length = body.len();
    // A truncated empty body announces a byte that never arrives.
    let (body, length) = if truncate { (body.slice(..length / 2), length.max(1)) } else { (body, length) };
    let mut response =
        Response::new(Body { rest: Some(body), truncation: truncate.then_some(Truncation::Pending) });
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

/// A body of one chunk, after which the connection may break.
pub(super) struct Body {
    rest: Option<Bytes>,
    truncation: Option<Truncation>,
}

/// The progress of a body that ends too early.
#[derive(Clone, Copy)]
enum Truncation {
    /// The first half has to be flushed: hyper discards it if the body fails at once.
    Pending,
    Due,
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Dropped;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Dropped>>> {
        if let Some(bytes) = self.rest.take().filter(|bytes| !bytes.is_empty()) {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        match self.truncation {
            None => Poll::Ready(None),
            Some(Truncation::Due) => Poll::Ready(Some(Err(Dropped))),
            Some(Truncation::Pending) => {
                self.truncation = Some(Truncation::Due);
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

/// Makes hyper drop the connection.
#[derive(Debug, thiserror::Error)]
#[error("the connection was dropped by a fault")]
pub(super) struct Dropped;
