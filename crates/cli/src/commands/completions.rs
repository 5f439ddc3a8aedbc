//! `plimsoll completions`: a completion script for a shell, from the same definition as the help.

use clap::CommandFactory;

use crate::args::Cli;
use crate::args::completions::Completions;
use crate::support::exit::{Exit, Outcome};
use crate::support::printer::Printer;

pub(super) fn run(args: &Completions, printer: &mut Printer) -> Outcome {
    printer.only_text("completions are a shell script")?;
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "plimsoll", &mut script);
    printer.raw(&script)?;
    Ok(Exit::Success)
}
