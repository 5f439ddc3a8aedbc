//! `plimsoll wait`

use std::str::FromStr;

use clap::Args;
use manifest::GoDuration;
use readiness::WrittenWait;

use super::cluster::{ObjectArgs, duration};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll wait deploy/web --for rollout
  plimsoll wait svc/web --for field=status.loadBalancer.ingress[0].ip
  plimsoll wait pvc/orders --for value=status.phase=Bound --timeout 1m
  plimsoll wait job/migrate --for condition=Complete -o json
  plimsoll wait pod/web-0 --for delete

kubectl's forms work as well: condition=TYPE=STATUS, jsonpath={PATH}[=TEXT], create and delete")]
pub(crate) struct Wait {
    #[command(flatten)]
    pub(crate) target: ObjectArgs,
    /// What to wait for: rollout, condition=TYPE[=STATUS], field=PATH, value=PATH=TEXT, create or delete
    #[arg(long = "for", value_name = "WHAT")]
    pub(crate) wanted: Wanted,
    /// How long to wait at most, including for the object to appear
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10m")]
    pub(crate) timeout: GoDuration,
}

#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// That the object meets this wait.
    As(WrittenWait),
    /// That the object exists.
    There,
    /// That it does not exist.
    Gone,
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ours = match text {
            "create" => return Ok(Self::There),
            "delete" => return Ok(Self::Gone),
            _ => translated(text).unwrap_or_else(|| text.to_owned()),
        };
        ours.parse().map(Self::As).map_err(|error| format!("{error}"))
    }
}

/// kubectl's other ways to write it, in ours.
fn translated(text: &str) -> Option<String> {
    if let Some(path) = text.strip_prefix("jsonpath=") {
        return Some(match path.rsplit_once("}=") {
            Some((path, value)) => format!("value={path}}}={value}"),
            None => format!("field={path}"),
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type_for_kubectl_is_understood() {
        let check = |text: &str, ours: Option<&str>| assert_eq!(translated(text).as_deref(), ours, "{text}");
        check("jsonpath={.status.phase}=Running", Some("value={.status.phase}=Running"));
        check("jsonpath={.status.ip}", Some("field={.status.ip}"));
        check("condition=Ready=false", None);
        check("value=status.phase=Bound", None);
        assert!(matches!("delete".parse(), Ok(Wanted::Gone)));
        assert!(matches!("create".parse(), Ok(Wanted::There)));
        assert!("rollouts".parse::<Wanted>().is_err());
    }
}
