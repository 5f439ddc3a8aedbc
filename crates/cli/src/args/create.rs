//! `plimsoll create`

use clap::Args;

use super::cluster::ClusterArgs;
use super::files::FileArgs;
use super::plan::DryRun;

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 all objects are created, 1 one is not, 130 interrupted

Examples:
  plimsoll create -f job.yaml
  plimsoll create -f job.yaml -o name
  kubectl get cm/settings -n shop -o yaml | plimsoll create -f - --strip -n other")]
pub(crate) struct Create {
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Leave out what only the API server sets, as in the output of `kubectl get -o yaml`
    #[arg(long)]
    pub(crate) strip: bool,
    /// Field manager to write as
    #[arg(long, value_name = "NAME", default_value = "plimsoll")]
    pub(crate) field_manager: String,
    /// Ask the API server whether each object could be created, and create nothing
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_value = "none", default_missing_value = "server")]
    pub(crate) dry_run: DryRun,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
