//! `plimsoll migrate`

use std::time::Duration;

use clap::{Args, Subcommand};

use super::cluster::{ClusterArgs, TypeName};
use super::values::duration;

#[derive(Debug, Subcommand)]
pub(crate) enum Migrate {
    /// Move compositions from Crossplane to Plimsoll, or back: show what would happen, or do it step by step
    Crossplane(MigrateCrossplane),
    /// Replace a claim by an XR in its namespace, which takes over what the claim is composed of: show what would happen, or do
    /// it step by step
    Claim(MigrateClaim),
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

#[derive(Args, Debug)]
#[command(
    after_help = "Without --apply nothing is changed. The engine has to run: Plimsoll's or Crossplane 2.

Exit status: 0 nothing blocks the migration, or every step succeeded; 1 something blocks it, or a step failed

Examples:
  plimsoll migrate claim web/shop --namespace team
  plimsoll migrate claim web/shop --to webapps.example.org --composition webapps
  plimsoll migrate claim web/shop --to webapps.example.org --apply"
)]
pub(crate) struct MigrateClaim {
    /// Claim, as in `web/shop`
    #[arg(value_name = "TYPE/NAME")]
    pub(crate) claim: TypeName,
    /// Kind of the new XR, from an XRD of scope Namespaced [default: the only one with the claim's kind]
    #[arg(long, value_name = "TYPE")]
    pub(crate) to: Option<String>,
    /// Name of the new XR [default: the claim's]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Composition of the new XR [default: that of its XRD, or the only one for its kind]
    #[arg(long, value_name = "NAME")]
    pub(crate) composition: Option<String>,
    /// Go on although the two Compositions run different pipelines; resources named differently are deleted
    #[arg(long)]
    pub(crate) allow_other_pipeline: bool,
    /// Run the migration and verify each step
    #[arg(long)]
    pub(crate) apply: bool,
    /// Time limit for each step
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
