//! `plimsoll sandbox …`

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use sandbox::Name;

/// Commands about sandboxes.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a sandbox, and stop it again with Ctrl-C
    ///
    /// The first time the programs are built with Go, which takes four to six minutes; from then on a start takes
    /// about three seconds. A sandbox that runs already is left as it is.
    ///
    /// The kubeconfig has two contexts for the same administrator: plimsoll-NAME (client certificate, the current
    /// one) and plimsoll-NAME-token (bearer token).
    #[command(after_help = "Examples:
  plimsoll sandbox up                       stay until Ctrl-C
  plimsoll sandbox up --detach              return when it is ready
  plimsoll sandbox up --name two --detach   a second one beside it")]
    Up(Up),
    /// Stop a sandbox and remove everything of it
    Down(Which),
    /// Show how a sandbox stands; the exit status is 0 only if it is ready
    Status(Which),
    /// Show all sandboxes
    List,
    /// Print the shell command that points kubectl and others at a sandbox
    #[command(after_help = "Examples:
  eval \"$(plimsoll sandbox env)\"    from now on kubectl, terraform and others use the sandbox")]
    Env(Which),
    /// Print the kubeconfig of a sandbox
    Kubeconfig(Which),
    /// Run a command with KUBECONFIG set and kubectl on PATH
    #[command(after_help = "Examples:
  plimsoll sandbox exec -- kubectl get nodes
  plimsoll sandbox exec -- terraform apply")]
    Exec(Exec),
    /// Print the logs of a sandbox
    #[command(after_help = "Examples:
  plimsoll sandbox logs                      every program's, one after the other
  plimsoll sandbox logs kube-apiserver -f    one program's, and what it adds")]
    Logs(Logs),
    /// Remove the built programs from the cache; the next start builds them again
    Purge,
    /// Own the processes of a sandbox
    #[command(hide = true)]
    Supervise {
        /// The sandbox's folder
        folder: PathBuf,
    },
}

/// Names the sandbox where `--name` does not.
const NAME_VARIABLE: &str = "PLIMSOLL_SANDBOX";

/// Which sandbox is meant.
#[derive(Args, Clone, Debug)]
pub(crate) struct Which {
    /// The name of the sandbox
    #[arg(long, env = NAME_VARIABLE, default_value_t, value_parser = name)]
    pub(crate) name: Name,
}

/// `plimsoll sandbox up`
#[derive(Args, Clone, Debug)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Return when it is ready, and let it run until `sandbox down`
    #[arg(long)]
    pub(crate) detach: bool,
    /// Stop by itself when nobody has held a lock on its lease file for this long, for instance 60s
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "detach")]
    pub(crate) linger: Option<Duration>,
    /// Listen on this port of 127.0.0.1 instead of a free one
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Write an audit log of every API request (verb, user agent, resource; no bodies)
    #[arg(long)]
    pub(crate) audit: bool,
    /// Give the API server one more flag; can be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = apiserver_arg)]
    pub(crate) apiserver_arg: Vec<(String, String)>,
    /// Give up when it is not ready after this time (building not counted)
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) timeout: Duration,
}

/// `plimsoll sandbox exec`
#[derive(Args, Clone, Debug)]
pub(crate) struct Exec {
    #[command(flatten)]
    pub(crate) which: Which,
    /// The command and its arguments; `--` before it is customary, and needed if it begins with a hyphen
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// `plimsoll sandbox logs`
#[derive(Args, Clone, Debug)]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) which: Which,
    /// The program (etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok, supervisor or audit); all
    /// programs if left out
    pub(crate) program: Option<String>,
    /// Go on with what is added, until Ctrl-C or the end of the sandbox
    #[arg(short, long)]
    pub(crate) follow: bool,
}

fn name(text: &str) -> Result<Name, String> {
    if text.is_empty() {
        return Err(format!("it is empty; give a name, or leave --name out and unset {NAME_VARIABLE}"));
    }
    text.parse().map_err(|error: sandbox::InvalidName| error.to_string())
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration: jiff::SignedDuration = text.parse().map_err(|error: jiff::Error| error.to_string())?;
    Duration::try_from(duration).map_err(|_| "a duration cannot be negative".to_owned())
}

fn apiserver_arg(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    let name = name.trim_start_matches('-');
    if name.is_empty() {
        return Err("the name is missing; write it as NAME=VALUE".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_people_do() {
        assert_eq!(duration("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert!(duration("-1s").is_err());
        assert!(duration("60").is_err());
    }

    #[test]
    fn apiserver_flags_may_be_written_with_or_without_dashes() {
        let expected = Ok(("event-ttl".to_owned(), "1h=x".to_owned()));
        assert_eq!(apiserver_arg("event-ttl=1h=x"), expected);
        assert_eq!(apiserver_arg("--event-ttl=1h=x"), expected);
        assert!(apiserver_arg("event-ttl").is_err());
        assert!(apiserver_arg("--=1").is_err());
    }
}
