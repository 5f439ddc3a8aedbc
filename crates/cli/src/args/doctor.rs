//! `plimsoll doctor`

use clap::Args;

use super::cluster::ClusterArgs;

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 no check failed, 1 a check failed

Examples:
  plimsoll doctor
  plimsoll doctor --context production -o json")]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
