//! `plimsoll wait`

use clap::Args;
use wait::{GoDuration, WrittenWait};

use super::cluster::{ObjectArgs, duration};

/// What a wait understands.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll wait deploy/web --for rollout
  plimsoll wait svc/web --for field=status.loadBalancer.ingress[0].ip
  plimsoll wait pvc/orders --for value=status.phase=Bound --timeout 1m
  plimsoll wait job/migrate --for condition=Complete -o json")]
pub(crate) struct Wait {
    #[command(flatten)]
    pub(crate) target: ObjectArgs,
    /// What to wait for: rollout, condition=TYPE, field=PATH or value=PATH=TEXT
    #[arg(long = "for", value_name = "WHAT")]
    pub(crate) wanted: WrittenWait,
    /// How long to wait at most, looking for the object included
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10m")]
    pub(crate) timeout: GoDuration,
}
