//! `plimsoll sandbox …`

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use sandbox::Name;

use super::values::{duration, pair};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a sandbox and stop it with Ctrl-C, or start it in the background
    ///
    /// The first start builds the programs with Go, which takes four to six minutes; later ones take about three
    /// seconds. A sandbox that is already running is left as it is.
    ///
    /// The kubeconfig has two contexts for the same administrator: plimsoll-NAME (client certificate, the default)
    /// and plimsoll-NAME-token (bearer token).
    #[command(after_help = "Exit status: 0 it was ready, 1 error

Examples:
  plimsoll sandbox up                       run until Ctrl-C
  plimsoll sandbox up --detach              return when it is ready
  plimsoll sandbox up --name two --detach   a second sandbox")]
    Up(Up),
    /// Stop a sandbox and remove all its files
    #[command(after_help = "Exit status: 0 done, 1 error

Examples:
  plimsoll sandbox down
  plimsoll sandbox down --name two")]
    Down(Which),
    /// Show the state of a sandbox; the exit status is 0 only if it is ready
    #[command(after_help = "Exit status: 0 it is ready, 1 it is not, or an error

Examples:
  plimsoll sandbox status
  plimsoll sandbox status --name two -o json")]
    Status(Which),
    /// List all sandboxes
    #[command(after_help = "Exit status: 0 done, 1 error

Examples:
  plimsoll sandbox list
  plimsoll sandbox list -o name")]
    List,
    /// Print the shell command that makes kubectl and other programs use a sandbox
    #[command(after_help = "Exit status: 0 done, 1 error

Examples:
  eval \"$(plimsoll sandbox env)\"    kubectl, terraform and others now use the sandbox")]
    Env(Which),
    /// Print the kubeconfig of a sandbox
    #[command(after_help = "Exit status: 0 done, 1 error

Examples:
  plimsoll sandbox kubeconfig > sandbox.yaml")]
    Kubeconfig(Which),
    /// Run a command with KUBECONFIG set and kubectl on PATH
    #[command(after_help = "Exit status: that of the command, 1 error

Examples:
  plimsoll sandbox exec -- kubectl get nodes
  plimsoll sandbox exec -- terraform apply")]
    Exec(Exec),
    /// Print the logs of a sandbox
    #[command(after_help = "Exit status: 0 done, 1 error

Examples:
  plimsoll sandbox logs                      the logs of all programs
  plimsoll sandbox logs kube-apiserver -f    one log, and new lines as they are written")]
    Logs(Logs),
    /// Remove the built programs from the cache; the next start builds them again
    #[command(after_help = "Exit status: 0 done, 1 error

Examples:
  plimsoll sandbox purge")]
    Purge,
    /// Supervise the processes of a sandbox
    #[command(hide = true)]
    Supervise {
        /// Folder of the sandbox
        folder: PathBuf,
    },
}

/// Names the sandbox where `--name` does not.
const NAME_VARIABLE: &str = "PLIMSOLL_SANDBOX";

/// Which sandbox to use.
#[derive(Args, Clone, Debug)]
pub(crate) struct Which {
    /// Name of the sandbox
    #[arg(long, env = NAME_VARIABLE, default_value_t, value_parser = name)]
    pub(crate) name: Name,
}

/// `plimsoll sandbox up`
#[derive(Args, Clone, Debug)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Run in the background until `sandbox down`, and return when it is ready
    #[arg(long)]
    pub(crate) detach: bool,
    /// Stop when no process has held a lock on the lease file for this long, for instance 60s
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "detach")]
    pub(crate) linger: Option<Duration>,
    /// Port on 127.0.0.1; the default is a free one
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Write an audit log of every API request (verb, user agent, resource; no bodies)
    #[arg(long)]
    pub(crate) audit: bool,
    /// Additional flag for the API server; can be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = apiserver_arg)]
    pub(crate) apiserver_arg: Vec<(String, String)>,
    /// Time limit for the start, without the build
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) timeout: Duration,
}

/// `plimsoll sandbox exec`
#[derive(Args, Clone, Debug)]
pub(crate) struct Exec {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Command with its arguments; put `--` before it if it starts with a hyphen
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// `plimsoll sandbox logs`
#[derive(Args, Clone, Debug)]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Program: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok, supervisor or audit; the
    /// default is all but audit
    pub(crate) program: Option<String>,
    /// Keep printing new lines until Ctrl-C or the end of the sandbox
    #[arg(short, long)]
    pub(crate) follow: bool,
}

fn name(text: &str) -> Result<Name, String> {
    if text.is_empty() {
        return Err(format!("it is empty; give a name, or omit --name and unset {NAME_VARIABLE}"));
    }
    text.parse().map_err(|error: sandbox::InvalidName| error.to_string())
}

/// The name may be written as a flag, with dashes.
fn apiserver_arg(text: &str) -> Result<(String, String), String> {
    pair(text.trim_start_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apiserver_flags_may_be_written_with_or_without_dashes() {
        let expected = Ok(("event-ttl".to_owned(), "1h=x".to_owned()));
        assert_eq!(apiserver_arg("event-ttl=1h=x"), expected);
        assert_eq!(apiserver_arg("--event-ttl=1h=x"), expected);
        assert!(apiserver_arg("event-ttl").is_err());
        assert!(apiserver_arg("--=1").is_err());
    }
}
