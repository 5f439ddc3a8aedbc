//! `plimsoll completions`

use clap::Args;
use clap_complete::Shell;

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 done, 1 error

Examples:
  plimsoll completions bash > ~/.local/share/bash-completion/completions/plimsoll
  plimsoll completions zsh > ~/.zfunc/_plimsoll
  plimsoll completions fish > ~/.config/fish/completions/plimsoll.fish")]
pub(crate) struct Completions {
    /// Shell to complete for
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}
