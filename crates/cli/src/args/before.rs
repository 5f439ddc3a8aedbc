//! Cluster options before the command, as kubectl allows: `plimsoll -n shop tree deploy/web`.

use super::Command;
use super::cluster::ClusterArgs;

impl ClusterArgs {
    /// What was typed after the command, and what is not said there, from before it.
    fn or(self, before: &Self) -> Self {
        let before = before.clone();
        Self {
            kubeconfig: self.kubeconfig.or(before.kubeconfig),
            context: self.context.or(before.context),
            namespace: self.namespace.or(before.namespace),
            as_user: self.as_user.or(before.as_user),
            as_group: if self.as_group.is_empty() { before.as_group } else { self.as_group },
        }
    }

    fn is_empty(&self) -> bool {
        let Self { kubeconfig, context, namespace, as_user, as_group } = self;
        kubeconfig.is_none()
            && context.is_none()
            && namespace.is_none()
            && as_user.is_none()
            && as_group.is_empty()
    }
}

impl Command {
    /// Passes on to the command what was typed before it; whether it takes that.
    pub(crate) fn take_before(&mut self, before: &ClusterArgs) -> bool {
        if before.is_empty() {
            return true;
        }
        let Some(own) = self.cluster() else { return false };
        *own = std::mem::take(own).or(before);
        true
    }

    fn cluster(&mut self) -> Option<&mut ClusterArgs> {
        match self {
            Self::Plan(args) => Some(&mut args.cluster),
            Self::Apply(args) => Some(&mut args.cluster),
            Self::Drift(args) => Some(&mut args.cluster),
            Self::Delete(args) => Some(&mut args.cluster),
            Self::Wait(args) => Some(&mut args.target.cluster),
            Self::Owners(args) => Some(&mut args.target.cluster),
            Self::Tree(args) => Some(&mut args.target.cluster),
            Self::Why(args) => Some(&mut args.target.cluster),
            Self::Operations(args) => Some(&mut args.cluster),
            Self::Doctor(args) => Some(&mut args.cluster),
            Self::Crds(args) => Some(&mut args.cluster),
            // `--namespace` means something else to the operator, and the others do not use a cluster.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::args::Cli;

    #[test]
    fn what_stands_before_the_command_counts_unless_it_is_said_again() {
        let namespace = |words: &[&str]| {
            let mut cli = Cli::parse_from([&["plimsoll"], words].concat());
            assert!(cli.command.take_before(&cli.before), "{words:?}");
            cli.command.cluster().and_then(|cluster| cluster.namespace.clone())
        };
        assert_eq!(namespace(&["-n", "shop", "tree", "deploy/web"]).as_deref(), Some("shop"));
        assert_eq!(namespace(&["-n", "shop", "tree", "deploy/web", "-n", "poor"]).as_deref(), Some("poor"));
        assert_eq!(namespace(&["plan", "-f", "a", "-n", "poor"]).as_deref(), Some("poor"));
        assert_eq!(namespace(&["--context", "c", "doctor"]), None);
        let mut lost = Cli::parse_from(["plimsoll", "-n", "shop", "completions", "bash"]);
        assert!(!lost.command.take_before(&lost.before));
    }
}
