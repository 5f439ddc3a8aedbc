//! `plimsoll delete`

use std::time::Duration;

use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use serde::{Deserialize, Serialize};

use super::applyset::ParentName;
use super::objects::ObjectArgs;
use super::plan::DryRun;
use super::values::duration;
use crate::support::completion;

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line, which are independent")]
#[command(after_help = "Exit status: 0 everything is gone, 1 something is not, or did not exist

Examples:
  plimsoll delete deploy/web svc/web
  plimsoll delete -f shop.yaml --timeout 30s
  plimsoll delete jobs -l app=shop --ignore-not-found
  plimsoll delete pvc/orders --cascade foreground
  plimsoll delete --applyset shop
  plimsoll delete ns/shop --remove-finalizers --timeout 1m")]
pub(crate) struct Delete {
    #[command(flatten)]
    pub(crate) objects: ObjectArgs,
    /// Delete the members of a set, then its parent
    #[arg(
        long,
        value_name = "[RESOURCE[.GROUP]/]NAME",
        conflicts_with_all = ["words", "filenames", "kustomize", "selector", "all"],
        add = ArgValueCompleter::new(completion::applysets)
    )]
    pub(crate) applyset: Option<ParentName>,
    /// Also delete a set that another tool manages
    #[arg(long, requires = "applyset")]
    pub(crate) adopt_applyset: bool,
    /// Do not fail if an object does not exist
    #[arg(long)]
    pub(crate) ignore_not_found: bool,
    /// What to do with the objects they own
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub(crate) cascade: Cascade,
    /// How long to wait for each object before reporting what blocks its deletion [default: 5m, or up to 15m for kinds
    /// whose content or storage goes first]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Request the deletion and return without waiting
    #[arg(long, conflicts_with_all = ["remove_finalizers", "force"])]
    pub(crate) no_wait: bool,
    /// Remove finalizers after the timeout; the cleanup they stand for does not happen
    #[arg(long)]
    pub(crate) remove_finalizers: bool,
    /// The former name of --remove-finalizers; kubectl's means something else
    #[arg(long, hide = true)]
    pub(crate) force: bool,
    /// Ask the API server whether each object could be deleted, and delete nothing
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_value = "none", default_missing_value = "server")]
    pub(crate) dry_run: DryRun,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cascade {
    /// Delete them afterwards
    #[default]
    Background,
    /// Delete them first
    Foreground,
    /// Keep them
    Orphan,
}
