//! `plimsoll tree` and `plimsoll why`

use clap::Args;

use super::objects::ObjectArgs;

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 done, 1 error, 130 interrupted

Examples:
  plimsoll tree deploy/web
  plimsoll tree deploy -l app=shop
  plimsoll tree deploy/web --watch
  plimsoll tree job/migrate -o json")]
pub(crate) struct Tree {
    #[command(flatten)]
    pub(crate) objects: ObjectArgs,
    /// Reprint on change, until Ctrl-C; only for one object
    #[arg(short, long)]
    pub(crate) watch: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 the objects are ready, 1 one is not, or an error

Examples:
  plimsoll why deploy/web
  plimsoll why -f shop.yaml
  plimsoll why pods --all -A
  plimsoll why pvc/orders -o json")]
pub(crate) struct Why {
    #[command(flatten)]
    pub(crate) objects: ObjectArgs,
}
