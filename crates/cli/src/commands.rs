//! What the commands do, one file for each family.

mod sandbox;

use crate::args::Command;
use crate::exit::Outcome;
use crate::printer::Printer;

/// Does what was typed.
pub(crate) fn run(command: Command, printer: &mut Printer) -> Outcome {
    match command {
        Command::Sandbox(command) => sandbox::run(command, printer),
    }
}
