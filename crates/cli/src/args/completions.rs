//! `plimsoll completions`

use clap::Args;
use clap_complete::Shell;

/// What the completions understand.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll completions bash > ~/.local/share/bash-completion/completions/plimsoll
  plimsoll completions zsh > ~/.zfunc/_plimsoll
  plimsoll completions fish > ~/.config/fish/completions/plimsoll.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}
