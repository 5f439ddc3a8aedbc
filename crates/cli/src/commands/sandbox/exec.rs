//! `plimsoll sandbox exec`

use std::env;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use diag::Diagnostic;
use sandbox::{Environment, Layout, Lease};
use tokio::signal::unix::{SignalKind, signal};

use super::{ready, runtime};
use crate::args::sandbox::Exec;
use crate::codes::{self, ENVIRONMENT};
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::Printer;

/// Runs the command with the sandbox's kubeconfig, and passes on its exit status.
pub(super) fn run(environment: &Environment, args: &Exec, printer: &mut Printer) -> Outcome {
    let status = ready(environment, &args.which.name)?;
    // The lease keeps a lingering sandbox alive while the command runs.
    let _lease = Lease::hold(environment, &args.which.name)?;
    // First in the PATH, so that kubectl has the control plane's version.
    let bin = Layout::new(environment, &args.which.name).bin();
    // An empty entry would mean the current folder.
    let folders = env::split_paths(&environment.path).filter(|folder| !folder.as_os_str().is_empty());
    let path = env::join_paths([bin].into_iter().chain(folders))
        .map_err(|error| Diagnostic::error(ENVIRONMENT, format!("cannot extend PATH: {error}")))?;
    let (program, arguments) = args.command.split_first().expect("clap requires a command");
    let mut command = Command::new(program);
    command.args(arguments).env("KUBECONFIG", &status.kubeconfig).env("PATH", path);
    wait(command).map(passed).or_else(|error| {
        let program = program.to_string_lossy();
        printer.diagnostic(
            &Diagnostic::error(codes::EXEC_NO_COMMAND, format!("cannot run {program}: {error}"))
                .hint("Choose a program on PATH, for instance `plimsoll sandbox exec -- kubectl get pods`."),
        );
        Ok(Exit::Passed(if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN }))
    })
}

/// The exit status of shells, `env` and `nice` if the command does not exist.
const NOT_FOUND: u8 = 127;
/// Their exit status if it cannot be run.
const NOT_RUN: u8 = 126;

/// Runs `command` to its end. Ctrl-C reaches the command itself through the terminal; here it must not end the wait.
fn wait(command: Command) -> io::Result<ExitStatus> {
    let runtime =
        runtime().map_err(|_: Failure| io::Error::other("cannot start the asynchronous runtime"))?;
    runtime.block_on(async {
        let _interrupt = signal(SignalKind::interrupt())?;
        let _quit = signal(SignalKind::quit())?;
        tokio::process::Command::from(command).status().await
    })
}

fn passed(status: ExitStatus) -> Exit {
    // A program killed by a signal has no exit status; shells report 128 plus the signal number.
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    Exit::Passed(u8::try_from(code).unwrap_or(u8::MAX))
}
