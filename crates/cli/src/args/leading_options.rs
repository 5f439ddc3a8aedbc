//! Cluster options before the command, as kubectl allows: `plimsoll -n shop tree deploy/web`.

use super::Command;
use super::cluster::{ClusterArgs, KubeconfigArgs};
use super::migrate::Migrate;

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

    /// Every command is named here, so that a new one is not forgotten.
    #[allow(clippy::match_same_arms, reason = "some commands exist on some systems only")]
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
            Self::Inspect(args) => Some(&mut args.cluster),
            Self::Operations(args) => Some(&mut args.cluster),
            Self::Doctor(args) => Some(&mut args.cluster),
            Self::Crds(args) => Some(&mut args.cluster),
            Self::Install(args) => Some(&mut args.cluster),
            Self::Uninstall(args) => Some(&mut args.cluster),
            Self::Migrate(Migrate::Crossplane(args)) => Some(&mut args.cluster),
            Self::Migrate(Migrate::Claim(args)) => Some(&mut args.cluster),
            // The operator has its own `--namespace`, and the others do not use a cluster.
            Self::Operator(_)
            | Self::Render(_)
            | Self::Explain(_)
            | Self::Terraform(_)
            | Self::Certs(_)
            | Self::OciServer(_)
            | Self::Function(_)
            | Self::Internal(_)
            | Self::Reference(_)
            | Self::Completions(_) => None,
            #[cfg(has_sandbox)]
            Self::Demo(_) | Self::Sandbox(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use crate::args::Cli;

    /// The commands whose arguments choose a cluster, by the words that name them.
    fn with_cluster(command: &clap::Command, path: &[&str]) -> Vec<Vec<String>> {
        let is_one = command.get_arguments().any(|arg| arg.get_id() == "as_user");
        let own = (is_one && !path.is_empty()).then(|| path.iter().map(|&word| word.to_owned()).collect());
        let below = command
            .get_subcommands()
            .flat_map(|below| with_cluster(below, &[path, &[below.get_name()]].concat()));
        own.into_iter().chain(below).collect()
    }

    #[test]
    fn every_command_that_has_cluster_options_takes_them_first() {
        let commands = with_cluster(&Cli::command(), &[]);
        assert!(commands.len() >= 19, "{commands:?}");
        for command in &commands {
            let required: &[&str] = match command[command.len() - 1].as_str() {
                "wait" => &["--for", "create"],
                "inspect" | "claim" => &["web/shop"],
                _ => &[],
            };
            let words = ["plimsoll", "-n", "shop"].into_iter();
            let words = words.chain(command.iter().map(String::as_str)).chain(required.iter().copied());
            let mut cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
            assert!(cli.command.merge_leading(&cli.leading), "{command:?}");
            let merged = cli.command.cluster().and_then(|cluster| cluster.namespace.clone());
            assert_eq!(merged.as_deref(), Some("shop"), "{command:?}");
        }
    }

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
