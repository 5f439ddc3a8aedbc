//! plimsoll, the command line tool.
//!
//! `args` defines the command line, `commands` runs it, and `printer` is the only module that writes to the terminal.

mod args;
mod called;
mod codes;
mod commands;
mod exit;
mod outstanding;
mod printer;
mod process;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _};

use args::Cli;
use called::Called;
use printer::Printer;

fn main() -> ExitCode {
    let called = Called::now();
    // First of all, because Terraform waits for the handshake.
    if called == Called::Provider {
        return provider::serve();
    }
    let cli = match parse(called) {
        Ok(cli) => cli,
        Err(help) => return help_or_usage(&help),
    };
    let mut printer = Printer::new(&cli.global);
    match commands::run(cli.command, &mut printer) {
        Ok(exit) => exit.into(),
        Err(failure) => printer.failure(&failure).into(),
    }
}

/// Parses the command line; usage and help show the name the program was called by.
fn parse(called: Called) -> Result<Cli, clap::Error> {
    let mut command = Cli::command().bin_name(called.typed());
    let matches = command.try_get_matches_from_mut(std::env::args_os()).map_err(advise)?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    if cli.command.take_before(&cli.before) {
        return Ok(cli);
    }
    let name = matches.subcommand_name().unwrap_or_default();
    let slip = format!(
        "'{name}' does not understand the options before it: they are for commands that ask a cluster"
    );
    Err(command.error(ErrorKind::UnknownArgument, slip))
}

/// Adds how to pass a file, if an unexpected argument is the path of one.
fn advise(mut slip: clap::Error) -> clap::Error {
    if slip.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(typed)) = slip.get(ContextKind::InvalidArg)
        && std::path::Path::new(typed).exists()
    {
        let tip = format!("to name a file or a folder, write '-f {typed}'").into();
        slip.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    slip
}

/// Shows help or a usage error. A usage error is a failure like any other: clap's own status for it, 2, tells a script
/// that there is something to change.
fn help_or_usage(help: &clap::Error) -> ExitCode {
    // If the terminal is closed, there is no place to report it.
    let _ = help.print();
    if help.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
