//! plimsoll, the command line tool.
//!
//! `args` says what can be typed, `commands` does it, `printer` is the only one to write to the terminal.

mod args;
mod commands;
mod exit;
mod printer;
mod process;

use std::process::ExitCode;

use clap::Parser;

use args::Cli;
use printer::Printer;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut printer = Printer::new(&cli.global);
    match commands::run(cli.command, &mut printer) {
        Ok(exit) => exit.into(),
        Err(failure) => printer.failure(&failure).into(),
    }
}
