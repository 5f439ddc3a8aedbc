//! `plimsoll inspect`

use std::time::Duration;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use super::cluster::ClusterArgs;
use super::values::duration;
use crate::support::completion;

#[derive(Args, Debug)]
#[command(
    after_help = "The operator reconciles the XR now, and records this one pass. You need the rights to get and to patch the XR;
unreadable composed resources are omitted.

Exit status: 0 shown, 1 the pass failed, or an error, 130 interrupted

Examples:
  plimsoll inspect xdatabase/orders
  plimsoll inspect database/orders -n shop
  plimsoll inspect xdatabase orders --full
  plimsoll inspect xdatabase/orders -o json"
)]
pub(crate) struct Inspect {
    /// Composite resource (XR) or claim, as in `xdatabase/orders` or `xdatabase orders`
    #[arg(value_name = "TYPE/NAME", required = true, num_args = 1..=2,
          add = ArgValueCompleter::new(completion::objects))]
    pub(crate) object: Vec<String>,
    /// Show everything that functions were given and returned
    #[arg(long)]
    pub(crate) full: bool,
    /// Time limit for the pass
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1m")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
