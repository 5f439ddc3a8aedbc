//! `plimsoll demo`

use clap::Args;

/// What the demo understands.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll demo           play it and leave nothing behind
  plimsoll demo --keep    leave the sandbox `demo` running, to look around in")]
pub(crate) struct Demo {
    /// Leave the sandbox running afterwards
    #[arg(long)]
    pub(crate) keep: bool,
}
