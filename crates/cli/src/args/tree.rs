//! `plimsoll tree` and `plimsoll why`

use clap::Args;

use super::cluster::ObjectArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll tree deploy/web
  plimsoll tree deploy/web --watch
  plimsoll tree job/migrate -o json")]
pub(crate) struct Tree {
    #[command(flatten)]
    pub(crate) target: ObjectArgs,
    /// Print again whenever it changes, until Ctrl-C
    #[arg(short, long)]
    pub(crate) watch: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 the object is ready, 1 it is not, or an error

Examples:
  plimsoll why deploy/web
  plimsoll why pvc/orders -o json")]
pub(crate) struct Why {
    #[command(flatten)]
    pub(crate) target: ObjectArgs,
}
