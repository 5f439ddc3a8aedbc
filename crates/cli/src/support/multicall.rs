//! The name in `argv[0]`: a link makes this binary a kubectl plugin, or the Terraform provider.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// `plimsoll …`
    Plimsoll,
    /// `kubectl plimsoll …`: kubectl runs the program named `kubectl-plimsoll` in the PATH.
    KubectlPlugin,
    /// Terraform starts the program named `terraform-provider-k8sconnect`; a registry's folder appends the version.
    Provider,
}

impl Program {
    pub(crate) fn of_process() -> Self {
        env::args_os().next().map_or(Self::Plimsoll, |program| Self::named(&program))
    }

    fn named(program: &OsStr) -> Self {
        match Path::new(program).file_name().and_then(OsStr::to_str) {
            Some("kubectl-plimsoll") => Self::KubectlPlugin,
            Some(name) if name.starts_with(provider::PROGRAM) => Self::Provider,
            _ => Self::Plimsoll,
        }
    }

    /// The command that users type.
    pub(crate) const fn command(self) -> &'static str {
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
    fn a_link_makes_it_a_plugin_or_the_provider() {
        let check = |argument: &str, program| assert_eq!(Program::named(OsStr::new(argument)), program);
        check("plimsoll", Program::Plimsoll);
        check("./anything", Program::Plimsoll);
        check("/usr/local/bin/kubectl-plimsoll", Program::KubectlPlugin);
        check("plugins/terraform-provider-k8sconnect", Program::Provider);
        check("terraform-provider-k8sconnect_v1.0.0", Program::Provider);
    }
}
