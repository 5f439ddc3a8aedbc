//! By which name the program was called: a link can make it a plugin of kubectl, or a provider of Terraform.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

/// The name under which people know the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// `plimsoll …`
    Plimsoll,
    /// `kubectl plimsoll …`: kubectl runs what is called `kubectl-plimsoll` on PATH.
    KubectlPlugin,
    /// Terraform starts what is called `terraform-provider-k8sconnect`; in a registry's folder the version follows.
    Provider,
}

impl Called {
    /// The name this process was called by.
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

    /// What people type.
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
