//! `plimsoll wait`

use std::borrow::Cow;
use std::str::FromStr;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use manifest::GoDuration;
use readiness::WrittenWait;

use super::objects::ObjectArgs;
use super::values::go_duration_or_zero;
use crate::support::completion;

#[derive(Args, Debug)]
#[command(
    after_help = "kubectl's forms also work: condition=TYPE=STATUS, jsonpath={PATH}[=TEXT], create and delete.

Exit status: 0 all objects got there, 1 one did not, or an error, 130 interrupted

Examples:
  plimsoll wait deploy/web --for rollout
  plimsoll wait deploy web api --for rollout --timeout 5m
  plimsoll wait pods -l app=web --for condition=Ready
  plimsoll wait job/migrate --for condition=Complete --for condition=Failed --any
  plimsoll wait svc/web --for field=status.loadBalancer.ingress[0].ip
  plimsoll wait pvc/orders --for value=status.phase=Bound --timeout 1m
  plimsoll wait job/migrate --for condition=Complete -o json
  plimsoll wait pod/web-0 --for delete"
)]
pub(crate) struct Wait {
    #[command(flatten)]
    pub(crate) objects: ObjectArgs,
    /// What to wait for: rollout, condition=TYPE[=STATUS], field=PATH, value=PATH=TEXT, create or delete; can be repeated
    #[arg(long = "for", value_name = "WHAT", required = true, add = ArgValueCompleter::new(completion::goals))]
    pub(crate) goals: Vec<WaitFor>,
    /// One of several --for is enough
    #[arg(long)]
    pub(crate) any: bool,
    /// Print values of Secrets instead of masking them
    #[arg(long)]
    pub(crate) show_secrets: bool,
    /// Time limit, including the time until the objects exist; 0 checks once
    #[arg(long, value_name = "DURATION", value_parser = go_duration_or_zero, default_value = "10m")]
    pub(crate) timeout: GoDuration,
}

#[derive(Clone, Debug)]
pub(crate) enum WaitFor {
    State(WrittenWait),
    Creation,
    Deletion,
}

impl FromStr for WaitFor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "create" => Ok(Self::Creation),
            "delete" => Ok(Self::Deletion),
            _ => from_kubectl(text).parse().map(Self::State).map_err(|error| format!("{error}")),
        }
    }
}

/// Translates kubectl's `jsonpath=…` to our notation. As for kubectl, the braces, the first dot and quotes around the value may be
/// there or not.
fn from_kubectl(text: &str) -> Cow<'_, str> {
    let Some(written) = text.strip_prefix("jsonpath=") else { return text.into() };
    let in_braces = |path: &str| match path.strip_prefix('{').and_then(|path| path.strip_suffix('}')) {
        Some(_) => path.to_owned(),
        None => format!("{{.{}}}", path.trim_start_matches('.')),
    };
    let mut depth = 0_usize;
    let end = written.find(|character| {
        match character {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == '=' && depth == 0
    });
    match end {
        Some(end) => {
            let value = written[end + 1..].trim_matches(['"', '\'']);
            format!("value={}={value}", in_braces(&written[..end])).into()
        }
        None => format!("field={}", in_braces(written)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubectls_notation_is_understood() {
        let check = |text: &str, ours: &str| assert_eq!(from_kubectl(text), ours, "{text}");
        check("jsonpath={.status.phase}=Running", "value={.status.phase}=Running");
        check("jsonpath={.status.ip}", "field={.status.ip}");
        check("jsonpath=.status.phase=Running", "value={.status.phase}=Running");
        check("jsonpath=status.phase=Running", "value={.status.phase}=Running");
        check(r#"jsonpath={.status.phase}="Running""#, "value={.status.phase}=Running");
        check("jsonpath=.status.ip", "field={.status.ip}");
        check(
            r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}=True"#,
            r#"value={.status.conditions[?(@.type=="Ready")].status}=True"#,
        );
        check(
            r#"jsonpath=.status.conditions[?(@.type=="Ready")].status"#,
            r#"field={.status.conditions[?(@.type=="Ready")].status}"#,
        );
        check("jsonpath={.data.k}=a=b", "value={.data.k}=a=b");
        check("condition=Ready=false", "condition=Ready=false");
        check("value=status.phase=Bound", "value=status.phase=Bound");
        assert!(matches!("delete".parse(), Ok(WaitFor::Deletion)));
        assert!(matches!("create".parse(), Ok(WaitFor::Creation)));
        assert!("rollouts".parse::<WaitFor>().is_err());
    }
}
