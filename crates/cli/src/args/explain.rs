//! `plimsoll explain`

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::support::completion;

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 done, 1 there is no such code

Examples:
  plimsoll explain ownership-drift
  plimsoll explain                       list all codes
  plimsoll explain wait-timed-out -o json")]
pub(crate) struct Explain {
    /// Code in the brackets of a message, as in `error[object-missing]`; omit it to list all codes
    #[arg(value_name = "CODE", add = ArgValueCompleter::new(completion::codes))]
    pub(crate) code: Option<String>,
}
