//! One call to the server, sent raw so that its status, warnings and retries are visible.

mod failure;

use std::fmt::{self, Write as _};
use std::time::Duration;

use backoff::Jitter;
use bytes::Bytes;
use diag::Diagnostic;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::response::Parts;
use http::{Method, Request};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body as _;
use kube::client::Body;
use manifest::{JsonError, ObjectRef};
use serde_json::Value;
use tokio::time::Instant;

use crate::codes;
use crate::discovery::segment;
use crate::error::{Error, ErrorKind, ResponseLimit, Subject, Verb};
use crate::redact::Redacted;
use crate::retry::{self, Retry, Retryable};
use crate::warning::warnings;
use failure::{Failure, no_response, rejection};

pub(crate) use failure::unreadable;

/// The longest one attempt may take. The server itself gives up on ordinary requests after 60 s.
const ATTEMPT: Duration = Duration::from_secs(65);
/// The largest response accepted, in bytes. A page of 500 objects seldom exceeds a tenth of it.
const LARGEST_RESPONSE: usize = 256 << 20;
/// The deepest nesting sent, the same as when manifests are parsed. managedFields repeat every level of an object a few
/// levels deeper, so responses are deeper than requests, and still parse.
const DEEPEST_SENT: usize = 256;

/// A call that can be sent repeatedly.
#[derive(Clone)]
pub(crate) struct Call {
    verb: Verb,
    subject: Subject,
    method: Method,
    path: String,
    accept: &'static str,
    body: Option<(&'static str, Bytes)>,
    idempotent: bool,
    /// The largest response accepted, in bytes.
    max_bytes: usize,
}

/// The result of a successful call.
#[derive(Clone, PartialEq)]
pub struct Reply<T = Value> {
    /// The HTTP status code: 201 means that an apply created the object, also in a dry run.
    pub code: u16,
    /// The object, or the other resource that was requested.
    pub object: T,
    /// The server's `Warning` headers for this call.
    pub warnings: Vec<String>,
    /// How often the call was retried, and why.
    pub retries: Vec<Retry>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({} {})", self.method, self.path)
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("code", &self.code)
            .field("object", &Redacted(&self.object))
            .field("warnings", &self.warnings)
            .field("retries", &self.retries)
            .finish()
    }
}

impl Reply {
    /// The server's warnings about `target`, as diagnostics.
    pub fn diagnostics(&self, target: &ObjectRef) -> Vec<Diagnostic> {
        let title = format!("Kubernetes API Warning ({}/{})", target.kind(), target.name);
        let warning = |text: &String| {
            Diagnostic::warning(codes::API_WARNING, title.clone())
                .detail(text.clone())
                .object(target.to_string())
        };
        self.warnings.iter().map(warning).collect()
    }

    /// Whether the object did not exist before.
    pub fn created(&self) -> bool {
        self.code == 201
    }
}

impl Call {
    pub(crate) fn get(verb: Verb, subject: Subject, path: String) -> Self {
        Self {
            verb,
            subject,
            method: Method::GET,
            path,
            accept: "application/json",
            body: None,
            idempotent: true,
            max_bytes: LARGEST_RESPONSE,
        }
    }

    /// Writes `target`, or its collection, at `path`. Calls that are not idempotent add [`Call::not_idempotent`].
    pub(crate) fn write(
        verb: Verb,
        target: &ObjectRef,
        method: Method,
        path: String,
        content_type: &'static str,
        body: &Value,
    ) -> Self {
        let body = Some((content_type, Bytes::from(body.to_string())));
        Self { method, body, ..Self::get(verb, Subject::Object(target.clone()), path) }
    }

    /// Never retries the call if it may have taken effect.
    pub(crate) fn not_idempotent(self) -> Self {
        Self { idempotent: false, ..self }
    }

    pub(crate) fn accept(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    /// Rejects a response with more bytes than this.
    pub(crate) fn max_bytes(self, bytes: usize) -> Self {
        Self { max_bytes: bytes, ..self }
    }

    pub(crate) fn error(&self, kind: ErrorKind, retries: Vec<Retry>) -> Error {
        Error::new(self.verb, self.subject.clone(), kind, retries)
    }

    pub(crate) fn request(&self) -> Request<Body> {
        let request = Request::builder().method(&self.method).uri(&self.path).header(ACCEPT, self.accept);
        let request = match &self.body {
            None => request.body(Body::empty()),
            Some((content_type, body)) => {
                request.header(CONTENT_TYPE, *content_type).body(Body::from(body.clone()))
            }
        };
        request.expect("paths are made of escaped segments")
    }
}

pub(crate) fn with_query(path: String, query: &[(&str, &str)]) -> String {
    let mut path = path;
    for (position, (name, value)) in query.iter().enumerate() {
        let separator = if position == 0 { '?' } else { '&' };
        let _ = write!(path, "{separator}{name}={}", segment(value));
    }
    path
}

/// Sends `call`, parses the response with `parse`, and retries while the failure is transient and the budget lasts.
pub(crate) async fn send<T, E: Into<JsonError>>(
    client: &kube::Client,
    call: &Call,
    parse: fn(&[u8]) -> Result<T, E>,
) -> Result<Reply<T>, Error> {
    // The response to a body nested deeper could not be parsed.
    let levels = call.body.as_ref().map_or(0, |(_, body)| manifest::json_depth(body));
    if levels > DEEPEST_SENT {
        return Err(call.error(ErrorKind::RequestTooDeep { levels, most: DEEPEST_SENT }, Vec::new()));
    }
    let began = Instant::now();
    let mut retries: Vec<Retry> = Vec::new();
    loop {
        let failure = match tokio::time::timeout(ATTEMPT, attempt(client, call, parse)).await {
            Ok(Ok(reply)) => return Ok(Reply { retries, ..reply }),
            Ok(Err(failure)) => failure,
            Err(_) => Failure::permanent(ErrorKind::TimedOut(ATTEMPT)),
        };
        let wait = retry::wait(
            failure.retryable,
            call.idempotent,
            retries.len(),
            began.elapsed(),
            failure.retry_after,
            Jitter::random(),
        );
        let Some(waited) = wait else {
            return Err(call.error(failure.kind, retries).with_retry_after(failure.retry_after));
        };
        let why = diag::error_chain(&failure.kind);
        tracing::warn!(call = %format_args!("{} {}", call.verb, call.subject), why, ?waited, "retrying");
        retries.push(Retry { why, waited });
        tokio::time::sleep(waited).await;
    }
}

async fn attempt<T, E: Into<JsonError>>(
    client: &kube::Client,
    call: &Call,
    parse: fn(&[u8]) -> Result<T, E>,
) -> Result<Reply<T>, Failure> {
    let (head, body) = respond(client, call).await?;
    let body = collect(body, call.max_bytes).await?;
    match parse(&body) {
        Ok(object) => Ok(Reply {
            code: head.status.as_u16(),
            object,
            warnings: warnings(&head.headers),
            retries: Vec::new(),
        }),
        // The response ended cleanly and still does not parse: a retry would not help.
        Err(error) => Err(Failure::permanent(unreadable(error.into()))),
    }
}

/// The head and body of a successful response.
async fn respond(client: &kube::Client, call: &Call) -> Result<(Parts, Body), Failure> {
    let (head, body) = client.send(call.request()).await.map_err(no_response)?.into_parts();
    if head.status.is_success() {
        return Ok((head, body));
    }
    let body = collect(body, call.max_bytes).await?;
    Err(rejection(head.status, &head.headers, &body))
}

/// The whole response body, unless it is larger than `most`.
async fn collect(body: Body, most: usize) -> Result<Bytes, Failure> {
    let too_large = || Failure::permanent(ErrorKind::ResponseTooLarge(ResponseLimit::Bytes(most)));
    if usize::try_from(body.size_hint().lower()).is_ok_and(|announced| announced > most) {
        return Err(too_large());
    }
    match Limited::new(body, most).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(Failure {
            kind: ErrorKind::BrokenResponse(error.into()),
            retryable: Retryable::IfIdempotent,
            retry_after: None,
        }),
    }
}

/// Opens a streaming response. Sent once: the watcher decides when to retry, not before the server's `Retry-After`.
pub(crate) async fn open(client: &kube::Client, call: &Call) -> Result<Body, (Error, Option<Duration>)> {
    match tokio::time::timeout(ATTEMPT, respond(client, call)).await {
        Ok(Ok((_, body))) => Ok(body),
        Ok(Err(failure)) => Err((call.error(failure.kind, Vec::new()), failure.retry_after)),
        Err(_) => Err((call.error(ErrorKind::TimedOut(ATTEMPT), Vec::new()), None)),
    }
}
