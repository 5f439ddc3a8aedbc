//! The process that commands run in: its executable, runtime and signals.

use std::env;
use std::io;
use std::path::PathBuf;

use diag::Diagnostic;
use tokio::runtime::{Builder, Runtime};

use crate::codes::ENVIRONMENT;
use crate::support::exit::{Exit, Failure, Outcome};

/// The path of this program, which also supervises sandboxes.
pub(crate) fn own_executable() -> Result<PathBuf, Failure> {
    let describe = |error: io::Error| {
        Diagnostic::error(ENVIRONMENT, format!("cannot determine the path of this program: {error}"))
    };
    Ok(env::current_exe().map_err(describe)?)
}

/// A runtime for commands that do I/O.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread().enable_all().build().map_err(|error| no_runtime(&error))
}

/// The error if the runtime cannot be created.
pub(crate) fn no_runtime(error: &io::Error) -> Failure {
    Diagnostic::error(ENVIRONMENT, format!("cannot start the asynchronous runtime: {error}")).into()
}

/// The exit status of a program that was interrupted, as shells report it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Runs `work` until it is done or the user presses Ctrl-C. It is then dropped, unless it watches for [`interrupt`] and
/// ends by itself.
pub(crate) fn until_interrupted(work: impl Future<Output = Outcome>) -> Outcome {
    runtime()?.block_on(async {
        tokio::select! {
            biased;
            outcome = work => outcome,
            () = interrupt() => Ok(Exit::Passed(INTERRUPTED)),
        }
    })
}

/// The same, and after an interruption `clean_up`, which a second one cuts short.
pub(crate) fn until_interrupted_then(
    work: impl Future<Output = Outcome>,
    clean_up: impl Future<Output = ()>,
) -> Outcome {
    runtime()?.block_on(async {
        tokio::select! {
            biased;
            outcome = work => return outcome,
            () = interrupt() => {}
        }
        tokio::select! {
            biased;
            () = clean_up => {}
            () = interrupt() => {}
        }
        Ok(Exit::Passed(INTERRUPTED))
    })
}

/// Waits until the user presses Ctrl-C.
pub(crate) async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without a handler, the signal itself ends the process.
        std::future::pending::<()>().await;
    }
}

/// The signals that stop a server: SIGINT from Ctrl-C, SIGTERM from a supervisor; on Windows Ctrl-C, and the end of the session.
pub(crate) struct ShutdownSignals {
    interrupt: system::Interrupt,
    terminate: system::Terminate,
}

#[cfg(unix)]
mod system {
    use std::io;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(super) type Interrupt = Signal;
    pub(super) type Terminate = Signal;

    pub(super) fn interrupt() -> io::Result<Interrupt> {
        signal(SignalKind::interrupt())
    }

    pub(super) fn terminate() -> io::Result<Terminate> {
        signal(SignalKind::terminate())
    }
}

#[cfg(windows)]
mod system {
    pub(super) use tokio::signal::windows::{
        CtrlC as Interrupt, CtrlShutdown as Terminate, ctrl_c as interrupt, ctrl_shutdown as terminate,
    };
}

impl ShutdownSignals {
    /// From now on, signals are handled instead of ending the process.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = || Ok(Self { interrupt: system::interrupt()?, terminate: system::terminate()? });
        listen().map_err(|error: io::Error| {
            Diagnostic::error(ENVIRONMENT, format!("cannot listen for signals: {error}")).into()
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn recv(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
