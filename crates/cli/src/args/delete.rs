//! `plimsoll delete`

use clap::{Args, ValueEnum};
use manifest::GoDuration;

use super::cluster::{ClusterArgs, TypeName, duration};
use super::files::FileArgs;

/// What a deletion understands.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll delete deploy/web svc/web
  plimsoll delete -f shop.yaml --timeout 30s
  plimsoll delete pvc/orders --cascade foreground
  plimsoll delete ns/shop --force --timeout 1m")]
pub(crate) struct Delete {
    /// Objects, as in `deploy/web`
    #[arg(value_name = "TYPE/NAME", conflicts_with_all = ["filenames", "kustomize"], required_unless_present_any = ["filenames", "kustomize"])]
    pub(crate) objects: Vec<TypeName>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// What becomes of the objects that they own
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub(crate) cascade: Cascade,
    /// How long to wait for each to be gone, before saying what holds it
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) timeout: GoDuration,
    /// Ask them to go, and do not wait
    #[arg(long, conflicts_with = "force")]
    pub(crate) no_wait: bool,
    /// When time is over, take finalizers away; what they were there for will not be done
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// What becomes of the objects that an object owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cascade {
    /// They go after it
    #[default]
    Background,
    /// They go first
    Foreground,
    /// They stay
    Orphan,
}
