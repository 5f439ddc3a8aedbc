//! Cluster options before the command, as kubectl allows: `plimsoll -n shop tree deploy/web`.

use super::Command;
use super::cluster::{ClusterArgs, KubeconfigArgs};

impl ClusterArgs {
    /// Options after the command take precedence over those before it.
    fn or(self, leading: &Self) -> Self {
        let leading = leading.clone();
        Self {
            kubeconfig: KubeconfigArgs {
                kubeconfig: self.kubeconfig.kubeconfig.or(leading.kubeconfig.kubeconfig),
                context: self.kubeconfig.context.or(leading.kubeconfig.context),
            },
            namespace: self.namespace.or(leading.namespace),
            as_user: self.as_user.or(leading.as_user),
            as_group: if self.as_group.is_empty() { leading.as_group } else { self.as_group },
        }
    }
}

impl Command {
    /// Adds the options typed before the command; `false` if the command does not have them.
    pub(crate) fn merge_leading(&mut self, leading: &ClusterArgs) -> bool {
        if *leading == ClusterArgs::default() {
            return true;
        }
        let Some(own) = self.cluster() else { return false };
        *own = std::mem::take(own).or(leading);
        true
    }

    fn cluster(&mut self) -> Option<&mut ClusterArgs> {
        match self {
            Self::Plan(args) => Some(&mut args.cluster),
            Self::Apply(args) => Some(&mut args.cluster),
            Self::Drift(args) => Some(&mut args.cluster),
            Self::Create(args) => Some(&mut args.cluster),
            Self::Delete(args) => Some(&mut args.objects.cluster),
            Self::ApplySets(args) => Some(&mut args.cluster),
            Self::Wait(args) => Some(&mut args.objects.cluster),
            Self::Owners(args) => Some(&mut args.objects.cluster),
            Self::Tree(args) => Some(&mut args.objects.cluster),
            Self::Why(args) => Some(&mut args.objects.cluster),
            Self::Ui(args) => Some(&mut args.cluster),
            Self::Operations(args) => Some(&mut args.cluster),
            Self::Doctor(args) => Some(&mut args.cluster),
            Self::Crds(args) => Some(&mut args.cluster),
            Self::Install(args) => Some(&mut args.cluster),
            Self::Uninstall(args) => Some(&mut args.cluster),
            // The operator has its own `--namespace`, and the others do not use a cluster.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::args::Cli;

    #[test]
    fn options_after_the_command_take_precedence() {
        let namespace = |words: &[&str]| {
            let mut cli = Cli::parse_from([&["plimsoll"], words].concat());
            assert!(cli.command.merge_leading(&cli.leading), "{words:?}");
            cli.command.cluster().and_then(|cluster| cluster.namespace.clone())
        };
        assert_eq!(namespace(&["-n", "shop", "tree", "deploy/web"]).as_deref(), Some("shop"));
        assert_eq!(namespace(&["-n", "shop", "tree", "deploy/web", "-n", "poor"]).as_deref(), Some("poor"));
        assert_eq!(namespace(&["plan", "-f", "a", "-n", "poor"]).as_deref(), Some("poor"));
        assert_eq!(namespace(&["--context", "c", "doctor"]), None);
        let mut lost = Cli::parse_from(["plimsoll", "-n", "shop", "completions", "bash"]);
        assert!(!lost.command.merge_leading(&lost.leading));
    }
}
