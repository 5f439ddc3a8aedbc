//! What users of kubectl type that is written in another way here: commands, and options that are missing.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction};

/// Commands that go by another name here.
const COMMANDS: [(&str, &str); 6] = [
    ("diff", "plimsoll plan"),
    ("version", "plimsoll --version"),
    ("rollout", "plimsoll wait deploy/NAME --for rollout"),
    ("describe", "plimsoll why TYPE/NAME"),
    ("get", "plimsoll tree TYPE/NAME"),
    ("prune", "plimsoll apply --applyset NAME --prune"),
];

const GRACE: &str =
    "pods have their own grace period; limit the wait with '--timeout', or do not wait, with '--no-wait'";
const KUBECONFIG: &str = "write it into a kubeconfig, which '--kubeconfig' and '--context' choose";
const WHOLE: &str = "files are taken whole; '--applyset NAME --prune' deletes what has left them";

/// Options that do not exist here, or not for the command, and what is there instead.
const OPTIONS: [(&str, &str); 23] = [
    ("--grace-period", GRACE),
    ("--now", GRACE),
    ("--wait", "deletions are waited for unless there is '--no-wait'"),
    ("--field-selector", "objects are selected by their labels, with '-l'"),
    ("--selector", WHOLE),
    ("-l", WHOLE),
    ("--prune-allowlist", WHOLE),
    ("--request-timeout", "each request has a limit of its own; '--timeout' limits what is waited for"),
    ("--validate", "the API server always refuses unknown fields"),
    ("--record", "it is not needed: the API server records who holds each field"),
    ("--save-config", "it is not needed: the API server records who holds each field"),
    ("--show-managed-fields", "'plimsoll owners TYPE/NAME' shows who holds each field"),
    (
        "--force",
        "'--force-conflicts' takes fields from other managers, '--replace' recreates what cannot be changed",
    ),
    ("--server", KUBECONFIG),
    ("-s", KUBECONFIG),
    ("--token", KUBECONFIG),
    ("--user", KUBECONFIG),
    ("--cluster", KUBECONFIG),
    ("--client-certificate", KUBECONFIG),
    ("--client-key", KUBECONFIG),
    ("--certificate-authority", KUBECONFIG),
    ("--insecure-skip-tls-verify", KUBECONFIG),
    ("--tls-server-name", KUBECONFIG),
];

/// `--server-side`, as every apply is here.
pub(crate) fn server_side() -> Arg {
    let arg = Arg::new("server_side").long("server-side").hide(true).action(ArgAction::Set);
    arg.num_args(0..=1).require_equals(true).default_missing_value("true").value_parser(["true"])
}

/// Suggests what a user of kubectl may mean, and `-f` if an unexpected argument is the path of a file.
pub(crate) fn advise(mut error: clap::Error) -> clap::Error {
    let typed = |error: &clap::Error, kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(typed)) => Some(typed.clone()),
        _ => None,
    };
    let (tip, others) = match error.kind() {
        ErrorKind::UnknownArgument => {
            let Some(typed) = typed(&error, ContextKind::InvalidArg) else { return error };
            let name = typed.split('=').next().unwrap_or_default();
            let ours = OPTIONS.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| (*ours).to_owned());
            let is_file = std::path::Path::new(&typed).exists();
            let file = || is_file.then(|| format!("to pass a file or a folder, write '-f {typed}'"));
            (ours.or_else(file), ContextKind::SuggestedArg)
        }
        ErrorKind::InvalidSubcommand => {
            let typed = typed(&error, ContextKind::InvalidSubcommand);
            let ours = COMMANDS.iter().find(|(theirs, _)| typed.as_deref() == Some(*theirs));
            (ours.map(|(_, ours)| format!("here that is '{ours}'")), ContextKind::SuggestedSubcommand)
        }
        _ => return error,
    };
    if let Some(tip) = tip {
        error.remove(others);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::args::Cli;

    #[test]
    fn what_kubectl_has_and_we_do_not_is_explained() {
        let check = |line: &str, expected: &str| {
            let error = Cli::try_parse_from(line.split(' ')).expect_err(line);
            let said = super::advise(error).to_string();
            assert!(said.contains(&format!("tip: {expected}")), "{line}: {said}");
        };
        check("plimsoll delete pod/a --grace-period=0", "pods have their own grace period");
        check("plimsoll delete pod/a --grace-period 0", "pods have their own grace period");
        check("plimsoll delete pod/a --now", "pods have their own grace period");
        check("plimsoll delete pod/a --wait=false", "deletions are waited for unless there is '--no-wait'");
        check("plimsoll apply -f a.yaml -l app=web", "files are taken whole");
        check("plimsoll apply -f a.yaml --selector app=web", "files are taken whole");
        check("plimsoll apply -f a.yaml --force", "'--force-conflicts' takes");
        check("plimsoll why pods --field-selector a=b", "objects are selected by their labels");
        check("plimsoll wait pod/a --for create --request-timeout 1s", "each request has a limit");
        check("plimsoll plan -f a.yaml --token t", "write it into a kubeconfig");
        check("plimsoll diff -f a.yaml", "here that is 'plimsoll plan'");
    }

    #[test]
    fn an_apply_is_always_server_side() {
        let is_valid = |option: &str| Cli::try_parse_from(["plimsoll", "apply", "-f", "a", option]).is_ok();
        assert!(is_valid("--server-side") && is_valid("--server-side=true"));
        assert!(!is_valid("--server-side=false"));
    }
}
