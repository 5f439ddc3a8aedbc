//! Why a call to the server did not do what it should: which call, on what, and what came back.

mod class;
mod diagnose;
mod immutable;

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
/// `kind` says how; [`Error::class`] sorts it into the situations people know, and [`Error::diagnostic`] tells it.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    verb: Verb,
    subject: Subject,
    kind: ErrorKind,
    retries: Vec<Retry>,
    /// The URL of the server, if it is known.
    server: Option<Arc<str>>,
}

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Reading one object.
    Read,
    /// Reading many objects.
    List,
    /// A server-side apply.
    Apply,
    /// Any other patch.
    Patch,
    /// Creating an object.
    Create,
    /// Replacing a whole object.
    Replace,
    /// Deleting an object.
    Delete,
    /// Watching objects.
    Watch,
    /// Asking which kinds there are.
    Discover,
}

/// What a call was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// One object.
    Object(ObjectRef),
    /// All objects of a kind.
    Kind(GroupVersionKind),
    /// The cluster itself.
    Cluster,
}

/// What is behind a failure; shared, because so are the questions that many wait for.
pub type Cause = Arc<dyn StdError + Send + Sync>;

/// How a call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server refused, and said why.
    #[error("the server says: {}", .0.message)]
    Status(ApiStatus),
    /// Something answered that does not speak Kubernetes: a proxy, a wrong host, a path the server does not know.
    #[error("unexpected answer (HTTP {code}){}", if excerpt.is_empty() { String::new() } else { format!(": {excerpt}") })]
    Foreign {
        /// The HTTP status code.
        code: u16,
        /// The beginning of what it said.
        excerpt: String,
    },
    /// The answer broke off or was not JSON.
    #[error("the server's answer broke off or is damaged")]
    Broken(#[source] Cause),
    /// The answer is larger than anything we would keep, or nested deeper than anything we can.
    #[error("the server's answer is {0}")]
    Unwieldy(Excess),
    /// What was to be sent is nested deeper than its answer could be read. Nothing was sent.
    #[error("it is nested {levels} levels deep, and {most} is the most")]
    TooDeep {
        /// How deep.
        levels: usize,
        /// How deep it may be.
        most: usize,
    },
    /// No connection.
    #[error("cannot connect to the server")]
    Unreachable(#[source] Cause),
    /// The server's certificate is not trusted, or it does not trust ours.
    #[error("no secure connection to the server")]
    Tls(#[source] Cause),
    /// No answer in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// We could not say who we are.
    #[error("no credentials")]
    Credentials(#[source] Cause),
    /// A fresh discovery lacks the kind.
    #[error("{0}")]
    KindMissing(Box<MissingKind>),
    /// The namespace does not exist.
    #[error("namespace {namespace:?} not found")]
    NamespaceMissing {
        /// The namespace.
        namespace: String,
        /// How long it was waited for.
        waited: Duration,
    },
}

/// What there is too much of in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    /// More bytes than this.
    #[error("larger than {} MiB", .0 >> 20)]
    Bytes(usize),
    /// Collections inside each other, this many.
    #[error("nested {0} levels deep")]
    Levels(usize),
}

impl Error {
    pub(crate) fn new(verb: Verb, subject: Subject, kind: ErrorKind, retries: Vec<Retry>) -> Self {
        Self(Box::new(Inner { verb, subject, kind, retries, server: None }))
    }

    /// The same, of a call to the server at this URL.
    pub(crate) fn on(mut self, server: Option<&Arc<str>>) -> Self {
        self.0.server = server.cloned();
        self
    }

    /// The same, said of another call that could not be made because of it.
    pub(crate) fn about(mut self, verb: Verb, subject: Subject) -> Self {
        (self.0.verb, self.0.subject) = (verb, subject);
        self
    }

    /// The URL of the server, where it matters: it could not be reached, did not answer, or does not know us.
    pub fn server(&self) -> Option<&str> {
        let matters =
            matches!(self.class(), Class::ConnectionFailed | Class::Timeout | Class::AuthenticationFailed);
        self.0.server.as_deref().filter(|_| matters)
    }

    /// What was tried.
    pub fn verb(&self) -> Verb {
        self.0.verb
    }

    /// What it was about.
    pub fn subject(&self) -> &Subject {
        &self.0.subject
    }

    /// How it failed.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// How often it had been tried before, and why again.
    pub fn retries(&self) -> &[Retry] {
        &self.0.retries
    }

    /// What the server said, if it said something.
    pub fn status(&self) -> Option<&ApiStatus> {
        match &self.0.kind {
            ErrorKind::Status(status) => Some(status),
            _ => None,
        }
    }

    pub(crate) fn into_kind(self) -> (ErrorKind, Vec<Retry>) {
        (self.0.kind, self.0.retries)
    }

    /// Whether this is a 404 about the path and not about an object: its kind has gone or is only just coming, or
    /// something else than the API server answers.
    pub(crate) fn is_no_path(&self) -> bool {
        match &self.0.kind {
            ErrorKind::Foreign { code, .. } => *code == 404,
            ErrorKind::Status(status) => status.code == 404 && status.details.name.is_empty(),
            _ => false,
        }
    }

    /// Whether the server is in trouble rather than the request: an overload, an outage, an answer that never came,
    /// or no connection at all ([`Class::ConnectionFailed`] tells the last apart).
    pub fn is_server_trouble(&self) -> bool {
        match &self.0.kind {
            // A 500 may also be the request's fault, as with a misspelt field.
            ErrorKind::Status(status) => {
                let unclassed = matches!(self.class(), Class::Other | Class::Timeout);
                status.code == 429 || (unclassed && (status.code >= 500 || status.code == 408))
            }
            ErrorKind::Foreign { code, .. } => *code >= 500,
            ErrorKind::Broken(_) | ErrorKind::Unreachable(_) | ErrorKind::TimedOut(_) => true,
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
