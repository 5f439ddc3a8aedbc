//! The name the program was called by: a link can make it a kubectl plugin, or a Terraform provider.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

/// The role that the name implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// `plimsoll …`
    Plimsoll,
    /// `kubectl plimsoll …`: kubectl runs the program named `kubectl-plimsoll` in the PATH.
    KubectlPlugin,
    /// Terraform starts the program named `terraform-provider-k8sconnect`; a registry's folder appends the version.
    Provider,
}

impl Called {
    pub(crate) fn now() -> Self {
        env::args_os().next().map_or(Self::Plimsoll, |program| Self::by(&program))
    }

    fn by(program: &OsStr) -> Self {
        match Path::new(program).file_name().and_then(OsStr::to_str) {
            Some("kubectl-plimsoll") => Self::KubectlPlugin,
            Some(name) if name.starts_with(provider::PROGRAM) => Self::Provider,
            _ => Self::Plimsoll,
        }
    }

    /// The command that users type.
    pub(crate) const fn typed(self) -> &'static str {
        match self {
            Self::Plimsoll | Self::Provider => "plimsoll",
            Self::KubectlPlugin => "kubectl plimsoll",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_makes_it_a_plugin() {
        let check = |program: &str, called| assert_eq!(Called::by(OsStr::new(program)), called);
        check("plimsoll", Called::Plimsoll);
        check("./anything", Called::Plimsoll);
        check("/usr/local/bin/kubectl-plimsoll", Called::KubectlPlugin);
        check("plugins/terraform-provider-k8sconnect", Called::Provider);
        check("terraform-provider-k8sconnect_v1.0.0", Called::Provider);
    }
}
