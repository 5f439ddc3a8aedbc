//! `plimsoll terraform`

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Terraform {
    /// Install this program as a provider where `terraform init` and `tofu init` look for it
    Install(Install),
    /// Remove what `plimsoll terraform install` has installed, and nothing else
    Uninstall(Uninstall),
}

#[derive(Args, Debug)]
#[command(after_help = "The provider is installed under two addresses:

  jmorris0x0/k8sconnect           in place of the Go provider, as a version 0.3.x above its releases
  plimsoll.dev/plimsoll/k8sconnect   under our own address and version

Afterwards `terraform init -upgrade` selects it. Nothing else has to be configured.

Exit status: 0 done, 1 error

Examples:
  plimsoll terraform install
  plimsoll terraform install --as-version 0.3.900
  plimsoll terraform install --folder /usr/local/share/terraform/plugins")]
pub(crate) struct Install {
    /// Version of the drop-in; the default is a 0.3.x that `~> 0.3` accepts and that is above every release of the Go provider
    #[arg(long, value_name = "VERSION")]
    pub(crate) as_version: Option<Version>,
    /// Folder of the mirror; the default is that of the current user
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Every version that plimsoll has installed for this platform is removed, under both addresses. Programs that others have put there stay.

Exit status: 0 done, also if there is nothing to remove, 1 error

Examples:
  plimsoll terraform uninstall --dry-run
  plimsoll terraform uninstall
  plimsoll terraform uninstall --folder /usr/local/share/terraform/plugins"
)]
pub(crate) struct Uninstall {
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Folder of the mirror; the default is that of the current user
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

/// A version in the form that providers have: `1.2.3` or `1.2.3-rc1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version(pub(crate) String);

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (numbers, label) = text.split_once('-').map_or((text, None), |(left, right)| (left, Some(right)));
        let is_number = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_digit())
                && (part == "0" || !part.starts_with('0'))
        };
        let is_label = |label: &str| {
            !label.is_empty()
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
        };
        let parts: Vec<&str> = numbers.split('.').collect();
        if parts.len() == 3 && parts.into_iter().all(is_number) && label.is_none_or(is_label) {
            return Ok(Self(text.to_owned()));
        }
        Err("write three numbers with dots, for instance 0.3.900".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_three_numbers() {
        for valid in ["0.3.900", "1.0.0-rc.1"] {
            assert_eq!(valid.parse(), Ok(Version(valid.to_owned())));
        }
        for invalid in ["0.3", "v0.3.9", "0.3.09", "0.3.", "0.3.9-", "0.3.9/..", "~> 0.3"] {
            assert!(invalid.parse::<Version>().is_err(), "{invalid}");
        }
    }
}
