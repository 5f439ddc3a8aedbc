//! `plimsoll reference`, which prints the generated pages of the book

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll reference cli > book/src/reference/cli.md")]
pub(crate) struct Reference {
    /// Page to print
    #[arg(value_enum)]
    pub(crate) page: Page,
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
}
