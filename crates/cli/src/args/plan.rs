//! `plimsoll plan`, `plimsoll apply` and `plimsoll drift`

use std::path::PathBuf;

use clap::Args;
use manifest::GoDuration;

use super::cluster::ClusterArgs;
use super::files::FileArgs;
use super::values::go_duration;

/// Who writes, and whether over other managers.
#[derive(Args, Clone, Debug)]
pub(crate) struct WriterArgs {
    /// Field manager to write as
    #[arg(long, value_name = "NAME", default_value = "plimsoll")]
    pub(crate) field_manager: String,
    /// Take fields that other managers hold
    #[arg(long)]
    pub(crate) force_conflicts: bool,
}

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
    /// Wait until the objects are ready
    #[arg(long)]
    pub(crate) wait: bool,
    /// Time limit for each object to become ready
    #[arg(long, value_name = "DURATION", value_parser = go_duration, default_value = "10m", requires = "wait")]
    pub(crate) timeout: GoDuration,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 the cluster matches the files, 1 error, 2 it differs

Examples:
  plimsoll drift -f manifests/
  plimsoll drift -f manifests/ --junit drift.xml
  plimsoll drift -k overlays/production -o json")]
pub(crate) struct Drift {
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Field manager to compare as
    #[arg(long, value_name = "NAME", default_value = "plimsoll")]
    pub(crate) field_manager: String,
    /// Also write a JUnit report with one test case per object
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
