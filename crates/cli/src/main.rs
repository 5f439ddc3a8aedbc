//! plimsoll, the command line tool.
//!
//! `args` defines the command line, `commands` has one module per command, and `support` is what they share. Only
//! `support::printer` writes to the terminal.

mod args;
mod codes;
mod commands;
mod support;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use clap_complete::CompleteEnv;

use args::{Cli, kubectl};
use mimalloc::MiMalloc;
use support::completion;
use support::multicall::Program;
use support::printer::Printer;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let program = Program::of_process();
    // First, because Terraform waits for the handshake.
    if program == Program::Provider {
        return provider::serve();
    }
    CompleteEnv::with_factory(Cli::command).var(completion::VARIABLE).complete();
    let cli = match parse(program) {
        Ok(cli) => cli,
        Err(help) => return help_or_usage(&help),
    };
    let mut printer = Printer::new(&cli.global);
    match commands::run(cli.command, &mut printer) {
        Ok(exit) => exit.into(),
        Err(failure) => printer.failure(&failure).into(),
    }
}

/// Parses the command line; usage and help show the name the program was started by.
fn parse(program: Program) -> Result<Cli, clap::Error> {
    let mut command = Cli::command().bin_name(program.command());
    let matches = command.try_get_matches_from_mut(std::env::args_os()).map_err(kubectl::advise)?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    if cli.command.merge_leading(&cli.leading) {
        return Ok(cli);
    }
    let name = matches.subcommand_name().unwrap_or_default();
    let message = format!(
        "'{name}' does not accept the options before it, which are for commands that connect to a cluster"
    );
    Err(command.error(ErrorKind::UnknownArgument, message))
}

/// Shows help or a usage error. clap's status for a usage error is 2, which `plan` uses for changes; ours is 1.
fn help_or_usage(help: &clap::Error) -> ExitCode {
    // If the terminal is closed, there is no place to report it.
    let _ = help.print();
    if help.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
