//! `plimsoll plan`, `plimsoll apply` and `plimsoll drift`

use std::path::PathBuf;

use clap::Args;
use manifest::GoDuration;

use super::cluster::{ClusterArgs, duration};
use super::files::FileArgs;

/// In whose name is written, and over whom.
#[derive(Args, Clone, Debug)]
pub(crate) struct WriterArgs {
    /// The manager that holds what is written
    #[arg(long, value_name = "NAME", default_value = "plimsoll")]
    pub(crate) field_manager: String,
    /// Take fields that other managers hold
    #[arg(long)]
    pub(crate) force_conflicts: bool,
}

/// What a plan understands.
#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 nothing would change, 1 error, 2 something would change

Examples:
  plimsoll plan -f shop.yaml
  plimsoll plan -f manifests/ -R --force-conflicts
  helm template web ./chart | plimsoll plan -f - -o json
  plimsoll plan -k overlays/production")]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) files: FileArgs,
    #[command(flatten)]
    pub(crate) writer: WriterArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// What an apply understands.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll apply -f shop.yaml --wait
  plimsoll apply -f crds.yaml -f objects.yaml
  plimsoll apply -k overlays/production --field-manager ci --force-conflicts")]
pub(crate) struct Apply {
    #[command(flatten)]
    pub(crate) files: FileArgs,
    #[command(flatten)]
    pub(crate) writer: WriterArgs,
    /// Wait until everything that rolls out has done so
    #[arg(long)]
    pub(crate) wait: bool,
    /// How long to wait for each object at most
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10m", requires = "wait")]
    pub(crate) timeout: GoDuration,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// What a look for drift understands.
#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 the cluster is as the files say, 1 error, 2 it is not

Examples:
  plimsoll drift -f manifests/
  plimsoll drift -f manifests/ --junit drift.xml
  plimsoll drift -k overlays/production -o json")]
pub(crate) struct Drift {
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// The manager that would hold what is written
    #[arg(long, value_name = "NAME", default_value = "plimsoll")]
    pub(crate) field_manager: String,
    /// Also write the result as a JUnit report, one test case an object
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
