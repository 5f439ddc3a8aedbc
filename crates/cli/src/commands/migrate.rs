//! `plimsoll migrate`: moves what another system serves to Plimsoll, and back.

mod back;
mod changes;
mod claim;
mod crossplane;
mod idle;
pub(super) mod installed;
mod inventory;
mod obstacles;
mod preview;
mod rights;
mod switch;

use crate::args::migrate::Migrate;
use crate::support::exit::Outcome;
use crate::support::printer::Printer;

pub(super) fn run(command: &Migrate, printer: &mut Printer) -> Outcome {
    match command {
        Migrate::Crossplane(args) => crossplane::run(args, printer),
        Migrate::Claim(args) => claim::run(args, printer),
    }
}
