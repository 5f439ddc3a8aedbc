//! The cluster, namespace and object arguments that many commands share.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use manifest::GoDuration;

/// The heading of the options that say which cluster is meant.
const CLUSTER: &str = "Cluster options";

/// Which cluster, and in whose name.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClusterArgs {
    /// The kubeconfig; without it what kubectl would use: KUBECONFIG, ~/.kube/config, the pod's service account
    #[arg(long, help_heading = CLUSTER, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig in place of the current one
    #[arg(long, help_heading = CLUSTER, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The namespace in place of the context's
    #[arg(short, long, help_heading = CLUSTER, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// The user to act as; the server decides whether we may
    #[arg(long = "as", help_heading = CLUSTER, value_name = "USER")]
    pub(crate) as_user: Option<String>,
    /// A group to act in; can be repeated
    #[arg(long, help_heading = CLUSTER, value_name = "GROUP", requires = "as_user")]
    pub(crate) as_group: Vec<String>,
}

/// One object of a cluster.
#[derive(Args, Clone, Debug)]
pub(crate) struct ObjectArgs {
    /// The object, as in `deploy/web`, `deployments.apps/web` or `Deployment/web`
    #[arg(value_name = "TYPE/NAME")]
    pub(crate) object: TypeName,
    /// Look for the name in all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub(crate) all_namespaces: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// An object as people type it: what type it is, in any of kubectl's forms, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypeName {
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl FromStr for TypeName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self { kind: kind.to_owned(), name: name.to_owned() })
            }
            _ => Err("write the type, a slash and the name, for instance deploy/web".to_owned()),
        }
    }
}

/// How long, in Go's way to write it.
pub(crate) fn duration(text: &str) -> Result<GoDuration, String> {
    match text.parse::<GoDuration>() {
        Ok(duration) if duration > GoDuration::default() => Ok(duration),
        Ok(_) => Err("it must be positive".to_owned()),
        Err(error) => Err(format!("{error}; write it like 30s, 5m or 1h30m")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_a_type_and_a_name() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let parsed = text.parse::<TypeName>().ok();
            let parts = parsed.as_ref().map(|object| (object.kind.as_str(), object.name.as_str()));
            assert_eq!(parts, expected, "{text}");
        };
        check("deploy/web", Some(("deploy", "web")));
        check("deployments.v1.apps/web", Some(("deployments.v1.apps", "web")));
        check("clusterrole/system:node", Some(("clusterrole", "system:node")));
        for wrong in ["web", "/web", "deploy/", "deploy/web/0", ""] {
            check(wrong, None);
        }
    }

    #[test]
    fn durations_are_positive() {
        assert!(duration("1m30s").is_ok());
        for wrong in ["0", "-1s", "60", "soon"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
