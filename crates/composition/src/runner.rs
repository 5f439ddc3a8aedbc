//! The boundary between deciding what to compose and calling functions.

use std::fmt;
use std::pin::Pin;

use crate::protocol::{RunRequest, RunResponse};

/// Runs functions by name: over gRPC, in this process, or from a recording.
///
/// One run may call the function several times to satisfy its requirements: it ends with the first response whose
/// requirements are stable, or that has a fatal result.
pub trait FunctionRunner: Send + Sync {
    /// Calls `function` with `request`.
    fn run<'a>(&'a self, function: &'a str, request: &'a RunRequest) -> RunFuture<'a>;
}

/// A call under way.
pub type RunFuture<'a> = Pin<Box<dyn Future<Output = Result<RunResponse, RunError>> + Send + 'a>>;

/// Why a function did not respond. The text is for the operator of the composition, never for the user of a claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RunError {
    pub class: RunErrorClass,
    /// The cause, without the function's name: `rpc error: code = Unavailable desc = …`.
    pub message: String,
}

impl RunError {
    pub fn new(class: RunErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }
}

/// The classes of failed calls.
///
/// They go into the correlation id of a failure, which has to stay the same while the failure does, although the text
/// may carry a port or an address that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunErrorClass {
    /// No function of that name is known, or it has no endpoint.
    FunctionNotFound,
    /// It cannot be reached: refused, reset, TLS failed.
    Unavailable,
    /// It did not respond in time.
    TimedOut,
    /// So many calls wait for it that this one was never made.
    Overloaded,
    /// The request or the response is larger than allowed.
    TooLarge,
    /// Its response cannot be decoded.
    BadAnswer,
    /// Its requirements never became stable.
    Unsettled,
    /// Something it requires could not be read.
    Requirement,
    /// It returned an error.
    Failed,
}

impl RunErrorClass {
    /// A stable name, usable as an event or condition reason.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FunctionNotFound => "FunctionNotFound",
            Self::Unavailable => "FunctionUnavailable",
            Self::TimedOut => "FunctionTimedOut",
            Self::Overloaded => "FunctionOverloaded",
            Self::TooLarge => "FunctionMessageTooLarge",
            Self::BadAnswer => "FunctionBadAnswer",
            Self::Unsettled => "RequirementsUnsettled",
            Self::Requirement => "RequirementUnreadable",
            Self::Failed => "FunctionFailed",
        }
    }
}

impl fmt::Display for RunErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
