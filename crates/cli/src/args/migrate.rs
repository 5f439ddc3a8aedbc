//! `plimsoll migrate`

use std::time::Duration;

use clap::{Args, Subcommand};

use super::cluster::ClusterArgs;
use super::values::duration;

#[derive(Debug, Subcommand)]
pub(crate) enum Migrate {
    /// Move compositions from Crossplane to Plimsoll, or back: show what would happen, or do it step by step
    Crossplane(MigrateCrossplane),
}

#[derive(Args, Debug)]
#[command(after_help = "Without --apply nothing is changed.

Exit status: 0 nothing blocks the migration, or every step succeeded; 1 something blocks it, or a step failed

Examples:
  plimsoll migrate crossplane
  plimsoll migrate crossplane --apply
  plimsoll migrate crossplane --back --apply")]
pub(crate) struct MigrateCrossplane {
    /// Run the migration and verify each step
    #[arg(long)]
    pub(crate) apply: bool,
    /// Move back to Crossplane
    #[arg(long)]
    pub(crate) back: bool,
    /// Time limit for each step
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
