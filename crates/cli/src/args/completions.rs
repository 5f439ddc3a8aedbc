//! `plimsoll completions`

use clap::Args;
use clap_complete::Shell;

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 done, 1 error

The script asks plimsoll for what it offers, also for contexts and for kinds, names, namespaces and sets of the cluster. It
belongs to this version of plimsoll, so let the shell read it when it starts.

Examples:
  source <(plimsoll completions bash)      in ~/.bashrc
  source <(plimsoll completions zsh)       in ~/.zshrc, after compinit
  plimsoll completions fish | source       in ~/.config/fish/config.fish")]
pub(crate) struct Completions {
    /// Shell to complete for
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}
