//! One call to the server: sent raw, so that its status, its warnings and its repetitions are seen.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use diag::Diagnostic;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body as _;
use hyper_util::client::legacy;
use kube::client::Body;
use manifest::{JsonError, ObjectRef};
use serde_json::Value;
use tokio::time::Instant;

use crate::codes;
use crate::connect::TransportError;
use crate::discovery::segment;
use crate::error::{Error, ErrorKind, Excess, Subject, Verb};
use crate::retry::{self, Retry, Trouble};
use crate::shown::Shown;
use crate::status::ApiStatus;
use crate::warning::warnings;

/// The longest one attempt may take. The server gives up on ordinary requests after 60 s by itself.
const ATTEMPT: Duration = Duration::from_secs(65);
/// The largest answer that is kept. A page of 500 objects has seldom more than a tenth of that.
const LARGEST_ANSWER: usize = 256 << 20;
/// The deepest that is sent: as deep as manifests are read. managedFields repeat every level of an object, a few levels
/// down, so that answers are deeper than what was sent, and still within what can be read.
const DEEPEST_SENT: usize = 256;

/// A call, ready to be sent as often as needed.
#[derive(Clone)]
pub(crate) struct Call {
    verb: Verb,
    subject: Subject,
    method: Method,
    path: String,
    accept: &'static str,
    body: Option<(&'static str, Bytes)>,
    repeatable: bool,
    /// The most bytes that the answer may have.
    most: usize,
}

/// What came back from a call that succeeded.
#[derive(Clone, PartialEq)]
pub struct Reply {
    /// The HTTP status code: 201 says that an apply created the object, also in a dry run.
    pub code: u16,
    /// The object, or whatever was asked for.
    pub object: Value,
    /// What the server wants the author of this very call to know.
    pub warnings: Vec<String>,
    /// How often the call had to be repeated, and why.
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
            .field("object", &Shown(&self.object))
            .field("warnings", &self.warnings)
            .field("retries", &self.retries)
            .finish()
    }
}

impl Reply {
    /// What the server wants people to know about `target`, as diagnostics.
    pub fn diagnostics(&self, target: &ObjectRef) -> Vec<Diagnostic> {
        let title = format!("Kubernetes API Warning ({}/{})", target.kind(), target.name);
        let warning = |text: &String| {
            Diagnostic::warning(codes::API_WARNING, title.clone())
                .detail(text.clone())
                .object(target.to_string())
        };
        self.warnings.iter().map(warning).collect()
    }

    /// Whether the object was not there before.
    pub fn created(&self) -> bool {
        self.code == 201
    }
}

impl Call {
    /// Reads `path`.
    pub(crate) fn get(verb: Verb, subject: Subject, path: String) -> Self {
        let accept = "application/json";
        Self {
            verb,
            subject,
            method: Method::GET,
            path,
            accept,
            body: None,
            repeatable: true,
            most: LARGEST_ANSWER,
        }
    }

    /// Changes what is at `path`. What cannot be done twice without harm says so by [`Call::once`].
    pub(crate) fn write(
        verb: Verb,
        subject: Subject,
        method: Method,
        path: String,
        content_type: &'static str,
        body: &Value,
    ) -> Self {
        let body = Some((content_type, Bytes::from(body.to_string())));
        Self {
            verb,
            subject,
            method,
            path,
            accept: "application/json",
            body,
            repeatable: true,
            most: LARGEST_ANSWER,
        }
    }

    /// Never repeats the call when it is open whether it took effect.
    pub(crate) fn once(self) -> Self {
        Self { repeatable: false, ..self }
    }

    pub(crate) fn accept(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    /// Breaks an answer off that has more bytes than this.
    pub(crate) fn at_most(self, bytes: usize) -> Self {
        Self { most: bytes, ..self }
    }

    pub(crate) fn error(&self, kind: ErrorKind, retries: Vec<Retry>) -> Error {
        Error::new(self.verb, self.subject.clone(), kind, retries)
    }

    /// Why it is better not sent: nobody could read the answer.
    fn excess(&self) -> Option<ErrorKind> {
        let levels = self.body.as_ref().map_or(0, |(_, body)| manifest::json_depth(body));
        (levels > DEEPEST_SENT).then_some(ErrorKind::TooDeep { levels, most: DEEPEST_SENT })
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

/// A path with its query.
pub(crate) fn with_query(path: String, query: &[(&str, &str)]) -> String {
    let mut path = path;
    for (position, (name, value)) in query.iter().enumerate() {
        let separator = if position == 0 { '?' } else { '&' };
        let _ = write!(path, "{separator}{name}={}", segment(value));
    }
    path
}

/// Sends `call`, again and again while the trouble is passing and the budget lasts.
pub(crate) async fn send(client: &kube::Client, call: &Call) -> Result<Reply, Error> {
    let Answer { code, content, warnings, retries } = ask(client, call, manifest::from_json).await?;
    Ok(Reply { code, object: content, warnings, retries })
}

/// An answer, read as whatever was wanted of it.
pub(crate) struct Answer<T> {
    pub(crate) code: u16,
    pub(crate) content: T,
    pub(crate) warnings: Vec<String>,
    pub(crate) retries: Vec<Retry>,
}

/// The same for a caller with its own way to read an answer.
pub(crate) async fn ask<T, E: Into<JsonError>>(
    client: &kube::Client,
    call: &Call,
    read: fn(&[u8]) -> Result<T, E>,
) -> Result<Answer<T>, Error> {
    if let Some(excess) = call.excess() {
        return Err(call.error(excess, Vec::new()));
    }
    let began = Instant::now();
    let mut retries: Vec<Retry> = Vec::new();
    loop {
        let failure = match tokio::time::timeout(ATTEMPT, attempt(client, call, read)).await {
            Ok(Ok(answer)) => return Ok(Answer { retries, ..answer }),
            Ok(Err(failure)) => failure,
            Err(_) => Failure::lasting(ErrorKind::TimedOut(ATTEMPT)),
        };
        let wait = retry::wait(
            failure.trouble,
            call.repeatable,
            retries.len(),
            began.elapsed(),
            failure.retry_after,
            retry::chance(),
        );
        let Some(waited) = wait else { return Err(call.error(failure.kind, retries)) };
        let why = crate::error::chain(&failure.kind);
        tracing::warn!(call = %format_args!("{} {}", call.verb, call.subject), why, ?waited, "trying again");
        retries.push(Retry { why, waited });
        tokio::time::sleep(waited).await;
    }
}

struct Failure {
    kind: ErrorKind,
    trouble: Trouble,
    retry_after: Option<Duration>,
}

impl Failure {
    /// Trouble that will not pass.
    fn lasting(kind: ErrorKind) -> Self {
        Self { kind, trouble: Trouble::Lasting, retry_after: None }
    }
}

async fn attempt<T, E: Into<JsonError>>(
    client: &kube::Client,
    call: &Call,
    read: fn(&[u8]) -> Result<T, E>,
) -> Result<Answer<T>, Failure> {
    let response = client.send(call.request()).await.map_err(no_answer)?;
    let (head, body) = response.into_parts();
    let body = collect(body, call.most).await?;
    if !head.status.is_success() {
        return Err(refusal(head.status, &head.headers, &body));
    }
    match read(&body) {
        Ok(content) => Ok(Answer {
            code: head.status.as_u16(),
            content,
            warnings: warnings(&head.headers),
            retries: Vec::new(),
        }),
        // Ended in good order and yet not to be read: nothing that would get better.
        Err(error) => Err(Failure::lasting(unreadable(error.into()))),
    }
}

/// The whole body of an answer, unless it is larger than `most`.
async fn collect(body: Body, most: usize) -> Result<Bytes, Failure> {
    let too_large = || Failure::lasting(ErrorKind::Unwieldy(Excess::Bytes(most)));
    if usize::try_from(body.size_hint().lower()).is_ok_and(|announced| announced > most) {
        return Err(too_large());
    }
    match Limited::new(body, most).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(Failure {
            kind: ErrorKind::Broken(error.into()),
            trouble: Trouble::Unclear,
            retry_after: None,
        }),
    }
}

/// What it means that a text by the server is not what it should be.
pub(crate) fn unreadable(error: JsonError) -> ErrorKind {
    match error {
        JsonError::Malformed(error) => ErrorKind::Broken(Arc::new(error)),
        JsonError::TooDeep { levels } => ErrorKind::Unwieldy(Excess::Levels(levels)),
    }
}

/// What an answer with an error code means.
fn refusal(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
    let header = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let (kind, message, seconds) = match ApiStatus::parse(code.as_u16(), body) {
        Some(status) => {
            let message = status.message.clone();
            let seconds = Some(status.details.retry_after_seconds).filter(|seconds| *seconds > 0);
            (ErrorKind::Status(status), message, seconds)
        }
        None => (ErrorKind::Foreign { code: code.as_u16(), excerpt: excerpt(body) }, String::new(), None),
    };
    let retry_after = header.or(seconds).map(Duration::from_secs);
    Failure { kind, trouble: Trouble::of_answer(code, &message), retry_after }
}

/// What is known when nothing came back.
fn no_answer(error: kube::Error) -> Failure {
    let error: Box<dyn std::error::Error + Send + Sync> = match error {
        kube::Error::Service(inner) => inner,
        other => other.into(),
    };
    let (kind, trouble) = match error.downcast::<TransportError>() {
        Err(other) => (ErrorKind::Broken(other.into()), Trouble::Unclear),
        Ok(error) => match *error {
            TransportError::Credentials(error) => (ErrorKind::Credentials(error), Trouble::Lasting),
            TransportError::Identity(error) => (ErrorKind::Credentials(Arc::new(error)), Trouble::Lasting),
            TransportError::Http(error) => sort_http(error),
        },
    };
    Failure { kind, trouble, retry_after: None }
}

fn sort_http(error: legacy::Error) -> (ErrorKind, Trouble) {
    if !error.is_connect() {
        return (ErrorKind::Broken(Arc::new(error)), Trouble::Unclear);
    }
    if caused_by::<rustls::Error>(&error).is_some() {
        return (ErrorKind::Tls(Arc::new(error)), Trouble::Lasting);
    }
    // A server that is about to come up refuses or resets; an address that does not answer or does not exist is wrong.
    let passing = caused_by::<std::io::Error>(&error).is_some_and(|error| {
        use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        matches!(error.kind(), ConnectionRefused | ConnectionReset | ConnectionAborted)
    });
    let trouble = if passing { Trouble::Refused } else { Trouble::Lasting };
    (ErrorKind::Unreachable(Arc::new(error)), trouble)
}

/// The first cause of type `T`. An `io::Error` hides what it wraps from `source`, so that is looked into as well.
fn caused_by<'a, T: std::error::Error + 'static>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(found) = inner.and_then(|inner| caused_by::<T>(inner)) {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// The first line of an answer that is no JSON, if it is text.
fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(400)]);
    let line = text.lines().next().unwrap_or_default().trim();
    if line.contains('<') || line.contains('\u{fffd}') {
        String::new()
    } else {
        line.chars().take(200).collect()
    }
}

/// Opens an answer that goes on and on. Sent once: whoever watches knows best when to try again.
pub(crate) async fn open(client: &kube::Client, call: &Call) -> Result<Body, Error> {
    let began = async {
        let response = client.send(call.request()).await.map_err(no_answer)?;
        let (head, body) = response.into_parts();
        if head.status.is_success() {
            return Ok(body);
        }
        let text = collect(body, call.most).await.unwrap_or_default();
        Err(refusal(head.status, &head.headers, &text))
    };
    match tokio::time::timeout(ATTEMPT, began).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(failure)) => Err(call.error(failure.kind, Vec::new())),
        Err(_) => Err(call.error(ErrorKind::TimedOut(ATTEMPT), Vec::new())),
    }
}
