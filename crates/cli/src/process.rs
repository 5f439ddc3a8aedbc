//! What commands need of the process they run in.

use std::env;
use std::io;
use std::path::PathBuf;

use diag::Diagnostic;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

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
    Builder::new_current_thread().enable_all().build().map_err(|error| no_runtime(&error))
}

/// The machine does not let us wait for bytes.
pub(crate) fn no_runtime(error: &io::Error) -> Failure {
    Diagnostic::error(ENVIRONMENT, format!("cannot start the asynchronous runtime: {error}")).into()
}

/// The exit status of a program that was interrupted, as shells report it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Does `work` until it is done or somebody presses Ctrl-C; what was begun is given up then, unless the work hears of it by
/// [`interrupt`] and comes to an end of its own.
pub(crate) fn until_interrupted(work: impl Future<Output = Outcome>) -> Outcome {
    runtime()?.block_on(async {
        tokio::select! {
            biased;
            outcome = work => outcome,
            () = interrupt() => Ok(Exit::Passed(INTERRUPTED)),
        }
    })
}

/// Waits until somebody presses Ctrl-C.
pub(crate) async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Nothing is heard then, and the signal ends the process by itself.
        std::future::pending::<()>().await;
    }
}

/// The signals by which somebody asks a program that serves to end: Ctrl-C, or what a supervisor sends.
pub(crate) struct Ending {
    interrupt: Signal,
    terminate: Signal,
}

impl Ending {
    /// From now on signals are heard instead of ending the process.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = || {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            })
        };
        listen().map_err(|error: io::Error| {
            Diagnostic::error(ENVIRONMENT, format!("cannot listen for signals: {error}")).into()
        })
    }

    /// Waits until somebody asks, the first time or once more.
    pub(crate) async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
