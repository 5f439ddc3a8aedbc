//! `plimsoll demo`

use clap::Args;

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 everything was shown, 1 a statement was not true, or an error

Examples:
  plimsoll demo                  run it, then remove everything
  plimsoll demo --keep           keep the sandbox `demo` running, to explore
  plimsoll demo --pause          continue when you press Enter
  plimsoll demo --no-terraform   apply and plan with plimsoll alone")]
pub(crate) struct Demo {
    /// Keep everything running until `plimsoll sandbox down --name demo`
    #[arg(long)]
    pub(crate) keep: bool,
    /// Wait for Enter before each step
    #[arg(long)]
    pub(crate) pause: bool,
    /// Do not use terraform or tofu, even if installed
    #[arg(long)]
    pub(crate) no_terraform: bool,
}
