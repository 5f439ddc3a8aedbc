//! What the commands do, one file for each family.

mod demo;
mod sandbox;

use crate::args::Command;
use crate::exit::Outcome;
use crate::printer::Printer;

/// Does what was typed.
pub(crate) fn run(command: Command, printer: &mut Printer) -> Outcome {
    match command {
        Command::Demo(args) => demo::run(&args, printer),
        Command::Sandbox(command) => sandbox::run(command, printer),
    }
}
