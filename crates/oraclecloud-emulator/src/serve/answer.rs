//! An answer on its way out, and what a fault does to it.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body::Frame;
use jiff::Timestamp;
use oraclecloud::sign::http_date;
use serde_json::Value;

use crate::fault::Mishap;
use crate::reply::{Refusal, Reply};
use crate::wire::ResetSwitch;

/// What leaves the server.
pub(super) enum Answer {
    /// Bytes.
    Bytes(Response<Body>),
    /// Nothing: the connection is reset.
    Reset,
}

impl Answer {
    pub(super) fn new(reply: Reply, mishap: Option<Mishap>, date: Timestamp) -> Self {
        let mut status = reply.status;
        let mut content_type = if reply.plain { "text/plain" } else { "application/json" };
        let mut body = match reply.body {
            Some(Value::String(text)) if reply.plain => Bytes::from(text),
            Some(body) => Bytes::from(body.to_string()),
            None => Bytes::new(),
        };
        let mut headers = reply.headers;
        let cut = mishap == Some(Mishap::Truncate);
        match mishap {
            Some(Mishap::ResetBefore | Mishap::ResetAfter) => return Self::Reset,
            Some(Mishap::Html(page_status)) => {
                status = StatusCode::from_u16(page_status).unwrap_or(StatusCode::BAD_GATEWAY);
                content_type = "text/html";
                body = Bytes::from_static(
                    b"<html><head><title>Bad gateway</title></head><body>nginx</body></html>",
                );
            }
            Some(Mishap::Body(text)) => body = Bytes::from(text),
            Some(Mishap::WithoutHeaders(names)) => {
                headers.retain(|(name, _)| !names.iter().any(|gone| gone.eq_ignore_ascii_case(name)));
            }
            Some(Mishap::Refuse { .. } | Mishap::SlowMillis(_) | Mishap::Truncate) | None => {}
        }
        let length = body.len();
        // An answer that is empty anyway is cut before a byte that never comes.
        let (body, length) = if cut { (body.slice(..length / 2), length.max(1)) } else { (body, length) };
        let mut response = Response::new(Body { rest: Some(body), cut: cut.then_some(Cut::Waiting) });
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
        Self::Bytes(response)
    }

    /// The response, or the error that makes hyper let go of a connection that is to be reset.
    pub(super) fn into_response(self, switch: &ResetSwitch) -> Result<Response<Body>, Dropped> {
        match self {
            Self::Bytes(response) => Ok(response),
            Self::Reset => {
                switch.pull();
                Err(Dropped)
            }
        }
    }
}

/// The answer of a fault that comes before any effect.
pub(super) fn refused(mishap: &Mishap) -> Reply {
    match mishap {
        Mishap::Refuse { status, code, retry_after } => {
            let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let message = "This answer was ordered.".to_owned();
            Reply::from(Refusal { status, code: code.clone(), message })
                .header("retry-after", retry_after.map(|seconds| seconds.to_string()))
        }
        _ => Reply::new(StatusCode::OK),
    }
}

/// A body of one piece, after which the connection may break.
pub(super) struct Body {
    rest: Option<Bytes>,
    cut: Option<Cut>,
}

/// Where a body that ends too early stands.
#[derive(Clone, Copy)]
enum Cut {
    /// What was written has to leave first: hyper forgets it when the body fails at once.
    Waiting,
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
        match self.cut {
            None => Poll::Ready(None),
            Some(Cut::Due) => Poll::Ready(Some(Err(Dropped))),
            Some(Cut::Waiting) => {
                self.cut = Some(Cut::Due);
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

/// A connection was dropped on order.
#[derive(Debug, thiserror::Error)]
#[error("dropped on order")]
pub(super) struct Dropped;
