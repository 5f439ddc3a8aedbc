//! Runs the commands: one file or folder each.

mod apply;
mod applysets;
mod certs;
mod completions;
mod crds;
mod create;
mod delete;
#[cfg(has_sandbox)]
mod demo;
mod doctor;
mod drift;
mod explain;
mod function;
mod inspect;
mod install;
mod internal;
mod migrate;
mod oci_server;
mod operations;
mod operator;
mod owners;
mod plan;
mod reference;
mod render;
#[cfg(has_sandbox)]
mod sandbox;
mod terraform;
mod tree;
mod ui;
mod uninstall;
mod wait;
mod why;

pub(crate) use explain::AREAS;

use crate::args::Command;
use crate::support::exit::Outcome;
use crate::support::printer::Printer;

pub(crate) fn run(command: Command, printer: &mut Printer) -> Outcome {
    if !matches!(command, Command::Plan(_) | Command::Apply(_) | Command::Drift(_)) {
        printer.refuse_reports()?;
    }
    match command {
        Command::Plan(args) => plan::run(&args, printer),
        Command::Apply(args) => apply::run(&args, printer),
        Command::Drift(args) => drift::run(&args, printer),
        Command::Create(args) => create::run(&args, printer),
        Command::Delete(args) => delete::run(&args, printer),
        Command::ApplySets(args) => applysets::run(&args, printer),
        Command::Wait(args) => wait::run(&args, printer),
        Command::Owners(args) => owners::run(&args, printer),
        Command::Tree(args) => tree::run(&args, printer),
        Command::Why(args) => why::run(&args, printer),
        Command::Ui(args) => ui::run(args, printer),
        Command::Render(args) => render::run(&args, printer),
        Command::Inspect(args) => inspect::run(&args, printer),
        Command::Internal(command) => internal::run(&command, printer),
        Command::Migrate(command) => migrate::run(&command, printer),
        Command::Operations(args) => operations::run(&args, printer),
        Command::Explain(args) => explain::run(&args, printer),
        Command::Doctor(args) => doctor::run(&args, printer),
        Command::Install(args) => install::run(&args, printer),
        Command::Uninstall(args) => uninstall::run(&args, printer),
        Command::Terraform(command) => terraform::run(&command, printer),
        Command::Operator(args) => operator::run(&args, printer),
        Command::Crds(args) => crds::run(&args, printer),
        Command::Certs(args) => certs::run(&args, printer),
        Command::OciServer(args) => oci_server::run(&args, printer),
        #[cfg(has_sandbox)]
        Command::Demo(args) => demo::run(&args, printer),
        #[cfg(has_sandbox)]
        Command::Sandbox(command) => sandbox::run(command, printer),
        Command::Function(function) => function::run(&function, printer),
        Command::Reference(args) => reference::run(&args, printer),
        Command::Completions(args) => completions::run(&args, printer),
    }
}
