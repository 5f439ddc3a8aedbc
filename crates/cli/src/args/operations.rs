//! `plimsoll operations`

use clap::Args;

use super::cluster::ClusterArgs;

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 done, 1 error, 130 interrupted

Examples:
  plimsoll operations
  plimsoll operations -A --watch
  plimsoll operations -A -o json")]
pub(crate) struct Operations {
    /// Include all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub(crate) all_namespaces: bool,
    /// Reprint on change, until Ctrl-C
    #[arg(short, long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
