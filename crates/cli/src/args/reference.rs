//! `plimsoll reference`, which prints the generated pages of the book, and writes the man pages of a release

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 done, 1 error

Examples:
  plimsoll reference cli > book/src/reference/cli.md
  plimsoll reference man --out man/man1")]
pub(crate) struct Reference {
    /// Page to print
    #[arg(value_enum)]
    pub(crate) page: Page,
    /// Folder for the man pages, one for each command
    #[arg(long, value_name = "DIR", required_if_eq("page", "man"))]
    pub(crate) out: Option<PathBuf>,
}

/// A generated page of the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Page {
    /// Every command with its help
    Cli,
    /// The kinds that the operator reconciles
    Kinds,
    /// Every described kind at Oracle Cloud
    CloudKinds,
    /// Every diagnostic code
    Diagnostics,
    /// The man pages, in a folder
    Man,
}
