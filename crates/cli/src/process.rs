//! What commands need of the process they run in.

use std::env;
use std::io;
use std::path::PathBuf;

use diag::Diagnostic;
use tokio::runtime::{Builder, Runtime};

use crate::codes::ENVIRONMENT;
use crate::exit::{Exit, Failure, Outcome};

/// The path of this program, which supervises sandboxes as well.
pub(crate) fn own_executable() -> Result<PathBuf, Failure> {
    let describe =
        |error: io::Error| Diagnostic::error(ENVIRONMENT, format!("cannot find my own executable: {error}"));
    Ok(env::current_exe().map_err(describe)?)
}

/// A runtime for commands that wait for bytes.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let describe = |error: io::Error| {
        Diagnostic::error(ENVIRONMENT, format!("cannot start the asynchronous runtime: {error}"))
    };
    Ok(Builder::new_current_thread().enable_all().build().map_err(describe)?)
}

/// The exit status of a program that was interrupted, as shells report it.
const INTERRUPTED: u8 = 130;

/// Does `work` until it is done or somebody presses Ctrl-C; what was begun is given up then.
pub(crate) fn until_interrupted(work: impl Future<Output = Outcome>) -> Outcome {
    runtime()?.block_on(async {
        tokio::select! {
            outcome = work => outcome,
            Ok(()) = tokio::signal::ctrl_c() => Ok(Exit::Passed(INTERRUPTED)),
        }
    })
}
