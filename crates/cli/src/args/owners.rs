//! `plimsoll owners`

use clap::Args;

use super::cluster::ObjectArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll owners deploy/web
  plimsoll owners deploy/web --manager kubectl-edit
  plimsoll owners deploy/web --who spec.template.spec.containers[0].image")]
pub(crate) struct Owners {
    #[command(flatten)]
    pub(crate) target: ObjectArgs,
    /// Show only the fields of this manager
    #[arg(long, value_name = "NAME")]
    pub(crate) manager: Option<String>,
    /// Show only who holds this field, a kubectl JSONPath
    #[arg(long, value_name = "PATH", conflicts_with = "manager")]
    pub(crate) who: Option<String>,
}
