//! `plimsoll sandbox up`

use std::time::Duration;

use sandbox::{Environment, Lease, Name, SandboxState, Status, UpRequest};

use super::view;
use crate::args::sandbox::Up;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::{GOOD, LITERAL, Printer};
use crate::support::process::{ShutdownSignals, own_executable, runtime};
use crate::support::sandbox_progress;

/// How often the foreground process checks that its sandbox still runs.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Starts the sandbox; without `--detach`, waits for Ctrl-C and stops it.
pub(super) fn run(environment: &Environment, args: &Up, printer: &mut Printer) -> Outcome {
    let request = UpRequest {
        port: args.port,
        audit: args.audit,
        // In the foreground the sandbox ends with this process, however that ends.
        linger: if args.detach { args.linger } else { Some(Duration::ZERO) },
        apiserver_args: args.apiserver_arg.clone(),
        timeout: args.timeout,
        ..UpRequest::new(args.which.name.clone(), own_executable()?)
    };
    let up = sandbox_progress::follow(printer, |on_event| sandbox::up(environment, &request, on_event))?;
    if let Some(warning) = up.warning() {
        printer.diagnostic(&warning);
    }
    printer.output(&up.status, [&up.status.name], |printer| {
        announce(printer, &up.status, up.started);
        Ok(())
    })?;
    if !args.detach && up.started {
        run_until_stopped(environment, &request.name, up.lease, printer)?;
    }
    Ok(Exit::Success)
}

fn announce(printer: &mut Printer, status: &Status, started: bool) {
    let name = &status.name;
    if started {
        let seconds =
            status.ready_after_ms.map_or_else(String::new, |ms| format!(" after {}", view::seconds(ms)));
        printer.message(format_args!("{GOOD}ready{GOOD:#} sandbox {name}{seconds}, {}", status.server));
    } else {
        printer.message(format_args!(
            "{GOOD}ready{GOOD:#} sandbox {name} is already running, {}",
            status.server
        ));
    }
    let flag = view::name_flag(name);
    printer
        .message(format_args!("  use it with    {LITERAL}eval \"$(plimsoll sandbox env{flag})\"{LITERAL:#}"));
    printer.message(format_args!(
        "  or             {LITERAL}plimsoll sandbox exec{flag} -- kubectl get nodes{LITERAL:#}"
    ));
    printer.message(format_args!("  stop it with   {LITERAL}plimsoll sandbox down{flag}{LITERAL:#}"));
}

/// Waits for Ctrl-C, or until another process stops the sandbox.
fn run_until_stopped(
    environment: &Environment,
    name: &Name,
    lease: Lease,
    printer: &mut Printer,
) -> Result<(), Failure> {
    printer.message("  or             Ctrl-C");
    let ended = runtime()?.block_on(async {
        let mut signals = ShutdownSignals::listen()?;
        loop {
            tokio::select! {
                () = signals.recv() => return Ok::<_, Failure>(None),
                () = tokio::time::sleep(CHECK_INTERVAL) => match sandbox::inspect(environment, name)? {
                    Some(status) if status.state == SandboxState::Ready => {}
                    other => return Ok(Some(other)),
                },
            }
        }
    })?;
    match ended {
        None => {
            sandbox_progress::follow(printer, |on_event| sandbox::down(environment, name, on_event))?;
            drop(lease);
            printer.message(format_args!("{GOOD}stopped{GOOD:#} sandbox {name}"));
            Ok(())
        }
        Some(Some(Status { failure: Some(failure), name, logs, .. })) => {
            Err(sandbox::Error::Failed { name, failure, logs }.into())
        }
        Some(_) => {
            printer.message(format_args!("sandbox {name} was stopped"));
            Ok(())
        }
    }
}
