//! `plimsoll completions`: the script by which a shell asks plimsoll what it may offer.

use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::args::completions::Completions;
use crate::support::completion::VARIABLE;
use crate::support::exit::{Exit, Outcome};
use crate::support::printer::Printer;

const PROGRAM: &str = "plimsoll";

pub(super) fn run(args: &Completions, printer: &mut Printer) -> Outcome {
    printer.only_text("completions are a shell script")?;
    let name = match args.shell {
        Shell::Bash => "bash",
        Shell::Elvish => "elvish",
        Shell::Fish => "fish",
        Shell::PowerShell => "powershell",
        _ => "zsh",
    };
    let shells = Shells::builtins();
    let shell = shells.completer(name).expect("all shells of the option are built in");
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    printer.raw(&script)?;
    Ok(Exit::Success)
}
