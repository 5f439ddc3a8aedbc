//! `plimsoll owners`

use clap::Args;

use super::objects::ObjectArgs;

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 done, 1 error

Examples:
  plimsoll owners deploy/web
  plimsoll owners deploy/web --manager kubectl-edit
  plimsoll owners deploy/web --who 'spec.template.spec.containers[name=\"web\"].image'
  plimsoll owners deploy/web --since
  plimsoll owners configmaps --all --manager argocd")]
pub(crate) struct Owners {
    #[command(flatten)]
    pub(crate) objects: ObjectArgs,
    /// Show only the fields of this manager
    #[arg(long, value_name = "NAME")]
    pub(crate) manager: Option<String>,
    /// Show only who holds this field, as plans print it or as a kubectl JSONPath
    #[arg(long, value_name = "PATH", conflicts_with = "manager")]
    pub(crate) who: Option<String>,
    /// Show only the fields that have changed since the last apply with --applyset, with their managers then and now
    #[arg(long, conflicts_with_all = ["manager", "who"])]
    pub(crate) since: bool,
}
