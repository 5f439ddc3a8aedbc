//! `plimsoll reference`, which the book's reference is made with

use clap::{Args, ValueEnum};

/// What the reference understands.
#[derive(Args, Debug)]
pub(crate) struct Reference {
    /// Which page
    #[arg(value_enum)]
    pub(crate) page: Page,
}

/// A page of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Page {
    /// Every command with its help
    Cli,
    /// The kinds that the operator works on
    Kinds,
    /// Every code of a diagnostic
    Diagnostics,
}
