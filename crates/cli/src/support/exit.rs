//! How a command ends: the exit status, or the diagnostics that explain the failure.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use diag::{Code, Diagnostic};

/// The exit status of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done, and the answer is yes if there is a question.
    Success,
    /// 1: the answer is no, or the work was not done.
    Failure,
    /// 2: there is something to change, as in `terraform plan -detailed-exitcode`.
    Changes,
    /// The status of a program that was run on the user's behalf.
    Passed(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Failure => Self::FAILURE,
            Exit::Changes => Self::from(2),
            Exit::Passed(status) => Self::from(status),
        }
    }
}

/// A diagnostic about `error`, with its source as the detail.
pub(crate) fn diagnose(code: Code, error: &dyn Error) -> Diagnostic {
    let diagnostic = Diagnostic::error(code, error.to_string());
    match error.source() {
        Some(cause) => diagnostic.detail(format!("Cause: {cause}.")),
        None => diagnostic,
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Diagnostic(Box<Diagnostic>),
    /// Standard output is closed, for instance because `head` has seen enough: not worth a message.
    Output(io::Error),
}

pub(crate) type Outcome = Result<Exit, Failure>;

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Diagnostic(Box::new(diagnostic))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
