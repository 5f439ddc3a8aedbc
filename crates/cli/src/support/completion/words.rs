//! The words of a command line that is still being typed: which cluster they select, and what they name so far.
//!
//! It is not complete, so it cannot be parsed; the options that matter are looked for.

use std::path::PathBuf;

use clap::CommandFactory as _;

use crate::args::Cli;
use crate::args::cluster::{ClusterArgs, KubeconfigArgs};

#[derive(Debug, Default, PartialEq)]
pub(super) struct Words {
    pub(super) cluster: ClusterArgs,
    /// The words before the one that is typed that belong to no option, without the command.
    pub(super) positional: Vec<String>,
}

impl Words {
    /// A shell passes the command line after `--`, and says which word is typed.
    pub(super) fn of_process() -> Self {
        let mut arguments = std::env::args().skip_while(|argument| argument != "--").skip(2);
        let index = std::env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse::<usize>().ok());
        let words: Vec<String> = arguments.by_ref().collect();
        // The first word is the program.
        let before = index.map_or(words.len().saturating_sub(1), |index| index.saturating_sub(1));
        Self::read(words.into_iter().take(before))
    }

    fn read(words: impl Iterator<Item = String>) -> Self {
        let mut found = Self::default();
        let root = Cli::command();
        let mut command = &root;
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix('-').filter(|option| !option.is_empty()) else {
                match command.find_subcommand(&word) {
                    Some(below) => command = below,
                    None => found.positional.push(word),
                }
                continue;
            };
            let (name, value) = match (option.strip_prefix('-'), option.char_indices().nth(1)) {
                (Some(long), _) => match long.split_once('=') {
                    Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                    None => (long.to_owned(), None),
                },
                (None, Some((end, _))) => (option[..end].to_owned(), Some(option[end..].to_owned())),
                (None, None) => (option.to_owned(), None),
            };
            let is_it = |argument: &&clap::Arg| {
                argument.get_long() == Some(&*name)
                    || argument.get_short().is_some_and(|short| name == short.to_string())
            };
            let of_command = command.get_arguments().find(is_it);
            let Some(argument) = of_command.or_else(|| root.get_arguments().find(is_it)) else { continue };
            if !argument.get_action().takes_values() {
                continue;
            }
            let must_follow = !argument.is_require_equals_set();
            let value = value.or_else(|| words.next_if(|_| must_follow)).unwrap_or_default();
            found.set(argument.get_id().as_str(), value.trim_start_matches('=').to_owned());
        }
        found
    }

    fn set(&mut self, option: &str, value: String) {
        let ClusterArgs { kubeconfig: KubeconfigArgs { kubeconfig, context }, namespace, as_user, as_group } =
            &mut self.cluster;
        match option {
            "kubeconfig" => *kubeconfig = Some(PathBuf::from(value)),
            "context" => *context = Some(value),
            "namespace" => *namespace = Some(value),
            "as_user" => *as_user = Some(value),
            "as_group" => as_group.push(value),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_cluster_are_found_wherever_they_are() {
        let check = |line: &str, namespace: Option<&str>, context: Option<&str>, positional: &[&str]| {
            let words = Words::read(line.split(' ').map(str::to_owned));
            assert_eq!(words.cluster.namespace.as_deref(), namespace, "{line}");
            assert_eq!(words.cluster.kubeconfig.context.as_deref(), context, "{line}");
            assert_eq!(words.positional, positional, "{line}");
        };
        check("tree deploy", None, None, &["deploy"]);
        check("-n shop tree deploy/web", Some("shop"), None, &["deploy/web"]);
        check("wait deploy web --for rollout -n=shop", Some("shop"), None, &["deploy", "web"]);
        check("delete --context=c -nshop --force pods", Some("shop"), Some("c"), &["pods"]);
        check("tree -o json --watch svc", None, None, &["svc"]);
        check("apply --dry-run -n shop", Some("shop"), None, &[]);
        check("sandbox up --detach", None, None, &[]);
    }
}
