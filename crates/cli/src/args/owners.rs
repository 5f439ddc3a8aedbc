//! `plimsoll owners`

use clap::Args;

use super::cluster::ObjectArgs;

/// What `owners` understands.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll owners deploy/web
  plimsoll owners deploy/web --manager kubectl-edit
  plimsoll owners deploy/web --who spec.template.spec.containers[0].image")]
pub(crate) struct Owners {
    #[command(flatten)]
    pub(crate) target: ObjectArgs,
    /// Show only what this manager holds
    #[arg(long, value_name = "NAME")]
    pub(crate) manager: Option<String>,
    /// Say only who holds this field, given as kubectl's JSONPath
    #[arg(long, value_name = "PATH", conflicts_with = "manager")]
    pub(crate) who: Option<String>,
}
