//! `plimsoll reference`, which prints the generated pages of the book

use clap::{Args, ValueEnum};

/// The arguments of `reference`.
#[derive(Args, Debug)]
pub(crate) struct Reference {
    /// Which page
    #[arg(value_enum)]
    pub(crate) page: Page,
}

/// A generated page of the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Page {
    /// Every command with its help
    Cli,
    /// The kinds that the operator works on
    Kinds,
    /// Every code of a diagnostic
    Diagnostics,
}
