//! `plimsoll doctor`

use clap::Args;

use super::cluster::ClusterArgs;

/// What the doctor understands.
#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 nothing is in the way, 1 something is

Examples:
  plimsoll doctor
  plimsoll doctor --context production -o json")]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
