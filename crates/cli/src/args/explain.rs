//! `plimsoll explain`

use clap::Args;

/// The arguments of `explain`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll explain ownership-drift
  plimsoll explain                       list every code
  plimsoll explain wait-timed-out -o json")]
pub(crate) struct Explain {
    /// The code in the brackets of a message, as in `error[object-missing]`; omit it to list every code
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
}
