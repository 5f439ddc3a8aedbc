//! Why a call to the server failed: which call, on which object, and what came back.

mod class;
mod diagnose;
mod immutable;
mod webhook;

pub use class::Class;
pub use diagnose::FieldConflict;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Retry;
use crate::discovery::MissingKind;
use crate::status::ApiStatus;
use manifest::{GroupVersionKind, ObjectRef};

/// A call that failed.
///
/// `kind` says how; [`Error::class`] classifies it, and [`Error::diagnostic`] explains it.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    verb: Verb,
    subject: Subject,
    kind: ErrorKind,
    retries: Vec<Retry>,
    /// How long we waited for what the call depends on.
    waited: Duration,
    /// The URL of the server, if it is known.
    server: Option<Arc<str>>,
    retry_after: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Read,
    List,
    /// Server-side apply.
    Apply,
    /// Any other patch.
    Patch,
    Create,
    Replace,
    Delete,
    Watch,
    Discover,
}

/// What a call was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Object(ObjectRef),
    /// All objects of a kind.
    Kind(GroupVersionKind),
    Cluster,
}

/// The source of a failure; shared, because several callers may wait for one request.
pub type Cause = Arc<dyn StdError + Send + Sync>;

/// How a call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server rejected the call with a `Status`.
    #[error("the server says: {}", .0.message)]
    Status(ApiStatus),
    /// Something that does not speak Kubernetes answered: a proxy, a wrong host, or an unknown path.
    #[error("unexpected response (HTTP {code}){}", if excerpt.is_empty() { String::new() } else { format!(": {excerpt}") })]
    UnexpectedResponse {
        code: u16,
        /// The beginning of its response.
        excerpt: String,
    },
    /// The response broke off or was not JSON.
    #[error("the server's response is incomplete or malformed")]
    BrokenResponse(#[source] Cause),
    /// The response is larger or more deeply nested than we accept.
    #[error("the server's response is {0}")]
    ResponseTooLarge(ResponseLimit),
    /// The request is nested so deeply that its response could not be read. Nothing was sent.
    #[error("it is nested {levels} levels deep, and the limit is {most}")]
    RequestTooDeep { levels: usize, most: usize },
    #[error("cannot connect to the server")]
    Unreachable(#[source] Cause),
    /// The server's certificate is not trusted, or it does not trust ours.
    #[error("cannot establish a TLS connection to the server")]
    Tls(#[source] Cause),
    #[error("no response within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// We could not obtain credentials.
    #[error("cannot obtain credentials")]
    Credentials(#[source] Cause),
    /// Missing from a fresh discovery.
    #[error("{0}")]
    KindMissing(Box<MissingKind>),
    #[error("namespace {namespace:?} not found")]
    NamespaceMissing { namespace: String },
}

/// Which limit a response exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResponseLimit {
    /// The limit in bytes.
    #[error("larger than {} MiB", .0 >> 20)]
    Bytes(usize),
    /// The limit of nested collections.
    #[error("nested {0} levels deep")]
    Levels(usize),
}

impl Error {
    pub(crate) fn new(verb: Verb, subject: Subject, kind: ErrorKind, retries: Vec<Retry>) -> Self {
        Self(Box::new(Inner {
            verb,
            subject,
            kind,
            retries,
            waited: Duration::ZERO,
            server: None,
            retry_after: None,
        }))
    }

    /// Adds how long the server asked to wait, which was longer than the call may take.
    pub(crate) fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.0.retry_after = retry_after;
        self
    }

    /// How long the server asked to wait before the call is made again.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Adds the URL of the server that was called.
    pub(crate) fn with_server(mut self, server: Option<&Arc<str>>) -> Self {
        self.0.server = server.cloned();
        self
    }

    /// The same failure, reported for another call that could not be made because of it.
    pub(crate) fn for_call(mut self, verb: Verb, subject: Subject) -> Self {
        (self.0.verb, self.0.subject) = (verb, subject);
        self
    }

    /// The URL of the server, where it matters: it was unreachable, did not respond, or rejected our credentials.
    pub fn server(&self) -> Option<&str> {
        let matters =
            matches!(self.class(), Class::ConnectionFailed | Class::Timeout | Class::AuthenticationFailed);
        self.0.server.as_deref().filter(|_| matters)
    }

    pub fn verb(&self) -> Verb {
        self.0.verb
    }

    pub fn subject(&self) -> &Subject {
        &self.0.subject
    }

    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The attempts before the last one, and why they were retried.
    pub fn retries(&self) -> &[Retry] {
        &self.0.retries
    }

    /// The server's `Status`, if it sent one.
    pub fn status(&self) -> Option<&ApiStatus> {
        match &self.0.kind {
            ErrorKind::Status(status) => Some(status),
            _ => None,
        }
    }

    /// A version of the same kind that is served, if the one that was asked for no longer is. Its objects exist.
    pub fn served_instead(&self) -> Option<&GroupVersionKind> {
        match &self.0.kind {
            ErrorKind::KindMissing(missing) => missing.served.first(),
            _ => None,
        }
    }

    /// `target` in the version of [`Self::served_instead`].
    pub fn served_target(&self, target: &ObjectRef) -> Option<ObjectRef> {
        Some(ObjectRef { gvk: self.served_instead()?.clone(), ..target.clone() })
    }

    /// Whether no version of the kind is served: then it has no objects either.
    pub fn is_kind_absent(&self) -> bool {
        matches!(&self.0.kind, ErrorKind::KindMissing(missing) if missing.served.is_empty())
    }

    /// The same failure, after waiting for what the call depends on.
    pub(crate) fn after(mut self, waited: Duration) -> Self {
        self.0.waited = waited;
        self
    }

    /// The same failure of the same call, described by another kind.
    pub(crate) fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Whether this is a 404 about the path and not about an object: the kind was removed or is just being added, or
    /// the response did not come from the API server.
    pub(crate) fn is_unknown_path(&self) -> bool {
        match &self.0.kind {
            ErrorKind::UnexpectedResponse { code, .. } => *code == 404,
            ErrorKind::Status(status) => status.code == 404 && status.details.name.is_empty(),
            _ => false,
        }
    }

    /// Whether the server is at fault rather than the request: overload, an outage, a response that never came, or no
    /// connection at all ([`Class::ConnectionFailed`] identifies the last).
    pub fn is_server_fault(&self) -> bool {
        match &self.0.kind {
            // A 500 may also be the request's fault, for instance with a misspelt field.
            ErrorKind::Status(status) => {
                let unclassed = matches!(self.class(), Class::Other | Class::Timeout);
                status.code == 429 || (unclassed && (status.code >= 500 || status.code == 408))
            }
            ErrorKind::UnexpectedResponse { code, .. } => *code >= 500,
            ErrorKind::BrokenResponse(_) | ErrorKind::Unreachable(_) | ErrorKind::TimedOut(_) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}", self.0.verb, self.0.subject)?;
        match self.server() {
            Some(server) => write!(f, " at {server}"),
            None => Ok(()),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0.kind)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::List => "list",
            Self::Apply => "apply",
            Self::Patch => "patch",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Watch => "watch",
            Self::Discover => "discover the kinds of",
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(object) => object.fmt(f),
            Self::Kind(gvk) => write!(f, "objects of kind {}", gvk.kind()),
            Self::Cluster => f.write_str("the cluster"),
        }
    }
}

#[cfg(test)]
mod tests;
