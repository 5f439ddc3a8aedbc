//! The cluster, namespace and object arguments that many commands share.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::support::completion;

pub(super) const CLUSTER: &str = "Cluster options";

/// Which cluster.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KubeconfigArgs {
    /// Kubeconfig file; the default is kubectl's: KUBECONFIG, ~/.kube/config, or the pod's service account
    #[arg(long, help_heading = CLUSTER, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Kubeconfig context; the default is the current one
    #[arg(long, help_heading = CLUSTER, value_name = "NAME", add = ArgValueCompleter::new(completion::contexts))]
    pub(crate) context: Option<String>,
}

/// Which cluster and namespace, and as which user.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterArgs {
    #[command(flatten)]
    pub(crate) kubeconfig: KubeconfigArgs,
    /// Namespace; the default is the context's
    #[arg(short, long, help_heading = CLUSTER, value_name = "NAME", add = ArgValueCompleter::new(completion::namespaces))]
    pub(crate) namespace: Option<String>,
    /// User to impersonate
    #[arg(long = "as", help_heading = CLUSTER, value_name = "USER")]
    pub(crate) as_user: Option<String>,
    /// Group to impersonate; can be repeated
    #[arg(long, help_heading = CLUSTER, value_name = "GROUP", requires = "as_user")]
    pub(crate) as_group: Vec<String>,
}

/// An object as users type it: its type in any of kubectl's forms, and its name.
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
        for invalid in ["web", "/web", "deploy/", "deploy/web/0", ""] {
            check(invalid, None);
        }
    }
}
