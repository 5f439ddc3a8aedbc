//! `plimsoll sandbox`: a real control plane to start, inspect, use and stop.

mod exec;
mod logs;
mod up;
pub(super) mod view;

use std::fs;

use sandbox::{DownOutcome, Environment, Error, Layout, Name, SandboxState, Status};
use serde_json::json;

use crate::args::Format;
use crate::args::sandbox::{Command, Which};
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::{GOOD, Printer};
use crate::support::process::runtime;
use crate::support::sandbox_progress;

pub(super) fn run(command: Command, printer: &mut Printer) -> Outcome {
    let environment = Environment::from_process()?;
    match command {
        Command::Up(args) => up::run(&environment, &args, printer),
        Command::Down(which) => down(&environment, &which.name, printer),
        Command::Status(which) => status(&environment, &which.name, printer),
        Command::List => list(&environment, printer),
        Command::Env(which) => env(&environment, &which, printer),
        Command::Kubeconfig(which) => kubeconfig(&environment, &which, printer),
        Command::Exec(args) => exec::run(&environment, &args, printer),
        Command::Logs(args) => logs::run(&environment, &args, printer),
        Command::Purge => purge(&environment, printer),
        Command::Supervise { folder } => {
            runtime()?.block_on(sandbox::supervise(&folder))?;
            Ok(Exit::Success)
        }
    }
}

fn down(environment: &Environment, name: &Name, printer: &mut Printer) -> Outcome {
    let outcome = sandbox_progress::follow(printer, |on_event| sandbox::down(environment, name, on_event))?;
    let data = json!({ "name": name, "stopped": outcome != DownOutcome::NotFound });
    printer.output(&data, [name], |printer| {
        printer.message(match outcome {
            DownOutcome::Stopped => format!("{GOOD}stopped{GOOD:#} sandbox {name}"),
            DownOutcome::Cancelled => {
                format!("{GOOD}stopped{GOOD:#} sandbox {name}: it will not start once its programs are built")
            }
            DownOutcome::NotFound => format!("sandbox {name} does not exist, nothing to stop"),
        });
        Ok(())
    })?;
    Ok(Exit::Success)
}

fn status(environment: &Environment, name: &Name, printer: &mut Printer) -> Outcome {
    let status = sandbox::inspect(environment, name)?.ok_or_else(|| not_running(name, None))?;
    printer.output(&status, [name], |printer| view::status(printer, &status))?;
    Ok(if status.state == SandboxState::Ready { Exit::Success } else { Exit::Failure })
}

fn list(environment: &Environment, printer: &mut Printer) -> Outcome {
    let all = sandbox::list(environment)?;
    if all.is_empty() && printer.format() == Format::Text {
        printer.message("there are no sandboxes");
        return Ok(Exit::Success);
    }
    printer.output(&all, all.iter().map(|status| &status.name), |printer| view::list(printer, &all))?;
    Ok(Exit::Success)
}

fn env(environment: &Environment, which: &Which, printer: &mut Printer) -> Outcome {
    let path = ready(environment, &which.name)?.kubeconfig;
    match printer.format() {
        Format::Json | Format::Yaml => printer.structured(&json!({ "KUBECONFIG": path }))?,
        Format::Text | Format::Name | Format::Diff | Format::Markdown => {
            printer
                .data(format_args!("export KUBECONFIG={}", view::shell_quoted(&path.to_string_lossy())))?;
        }
    }
    Ok(Exit::Success)
}

fn kubeconfig(environment: &Environment, which: &Which, printer: &mut Printer) -> Outcome {
    let path = ready(environment, &which.name)?.kubeconfig;
    let content = fs::read(&path).map_err(|source| Error::Files { action: "read", path, source })?;
    match (printer.format(), serde_json::from_slice::<serde_json::Value>(&content)) {
        (Format::Json | Format::Yaml, Ok(config)) => printer.structured(&config)?,
        _ => printer.raw(&content)?,
    }
    Ok(Exit::Success)
}

fn purge(environment: &Environment, printer: &mut Printer) -> Outcome {
    let freed = sandbox::purge(environment)?;
    match printer.format() {
        Format::Json | Format::Yaml => printer.structured(&json!({ "freedBytes": freed }))?,
        _ if freed == 0 => printer.message("nothing to remove"),
        Format::Text | Format::Name | Format::Diff | Format::Markdown => {
            printer.message(format_args!("{GOOD}removed{GOOD:#} {} MB of built programs", freed / 1_000_000));
        }
    }
    Ok(Exit::Success)
}

/// The sandbox, which must be ready.
fn ready(environment: &Environment, name: &Name) -> Result<Status, Failure> {
    match sandbox::inspect(environment, name)? {
        Some(status) if status.state == SandboxState::Ready => Ok(status),
        other => Err(not_running(name, other.map(|status| status.state)).into()),
    }
}

/// The folder of the sandbox, which must exist; the sandbox need not run.
fn folder(environment: &Environment, name: &Name) -> Result<Layout, Failure> {
    let layout = Layout::new(environment, name);
    if layout.root().is_dir() { Ok(layout) } else { Err(not_running(name, None).into()) }
}

fn not_running(name: &Name, state: Option<SandboxState>) -> Error {
    Error::NotRunning { name: name.clone(), state }
}
