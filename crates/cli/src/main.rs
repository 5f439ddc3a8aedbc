//! plimsoll, the command line tool.
//!
//! `args` says what can be typed, `commands` does it, `printer` is the only one to write to the terminal.

mod args;
mod codes;
mod commands;
mod exit;
mod printer;
mod process;

use std::process::ExitCode;

use clap::Parser;

use args::Cli;
use printer::Printer;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(help) => return help_or_usage(&help),
    };
    let mut printer = Printer::new(&cli.global);
    match commands::run(cli.command, &mut printer) {
        Ok(exit) => exit.into(),
        Err(failure) => printer.failure(&failure).into(),
    }
}

/// Shows the help that was asked for, or what is wrong with what was typed. A slip is a failure like any other: clap's
/// own status for it, 2, means to a script that there is something to change.
fn help_or_usage(help: &clap::Error) -> ExitCode {
    // There is nobody to tell that the terminal is gone.
    let _ = help.print();
    if help.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
