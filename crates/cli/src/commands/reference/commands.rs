//! Every command with its help, from the definition that parses the command line.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

use crate::args::Cli;

/// The width of help texts in the book.
const WIDTH: usize = 100;

pub(super) fn page() -> String {
    let mut page = String::from(
        "# Commands\n\nGenerated from the definition of the command line by `cargo xtask book`. With a link named `kubectl-plimsoll` on \
         `PATH`, every command also works as `kubectl plimsoll …`.\n",
    );
    let mut command = Cli::command().term_width(WIDTH);
    command.build();
    section(&mut page, &command, 2);
    page
}

fn section(page: &mut String, command: &Command, level: usize) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let help = command.clone().term_width(WIDTH).render_long_help();
    let lines: Vec<String> = help.to_string().lines().map(|line| line.trim_end().to_owned()).collect();
    let hashes = "#".repeat(level);
    let _infallible = write!(page, "\n{hashes} `{name}`\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
    {
        section(page, below, (level + 1).min(3));
    }
}
