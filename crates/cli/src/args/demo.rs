//! `plimsoll demo`

use clap::Args;

/// What the demo understands.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll demo                  play it and leave nothing behind
  plimsoll demo --keep           leave the sandbox `demo` running, to look around in
  plimsoll demo --pause          go on when Enter is pressed
  plimsoll demo --no-terraform   apply and plan with plimsoll alone")]
pub(crate) struct Demo {
    /// Leave everything running afterwards, until `plimsoll sandbox down --name demo`
    #[arg(long)]
    pub(crate) keep: bool,
    /// Wait for Enter before each part
    #[arg(long)]
    pub(crate) pause: bool,
    /// Use neither terraform nor tofu, even if one is there
    #[arg(long)]
    pub(crate) no_terraform: bool,
}
