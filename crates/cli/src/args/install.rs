//! `plimsoll install` and `plimsoll uninstall`

use std::time::Duration;

use clap::Args;
use manifest::GoDuration;
use operator::Half;

use super::cluster::ClusterArgs;
use super::operator::halves;
use super::values::{duration, go_duration};

/// The image of this release: `cargo xtask dist --image` says where it is pulled from.
const IMAGE: &str = match option_env!("PLIMSOLL_IMAGE") {
    Some(image) => image,
    None => concat!("plimsoll:", env!("CARGO_PKG_VERSION")),
};

/// The namespace of `deploy/`.
pub(crate) const NAMESPACE: &str = "plimsoll-system";

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line, which are independent")]
#[command(
    mut_arg("namespace", |arg| arg.help(format!("Namespace of the operator [default: {NAMESPACE}]"))),
    after_help = "With -o yaml or -o json, the manifests are printed and nothing is applied.

Exit status: 0 everything is applied (and ready, with --wait), 1 something is not, 130 interrupted

Examples:
  plimsoll install --wait
  plimsoll install --dry-run
  plimsoll install -o yaml > plimsoll.yaml
  plimsoll install --image registry.example.org/plimsoll@sha256:4d0b --pull-secret registry
  plimsoll install --controllers composition --grant-defined-kinds --user-roles
  plimsoll install --tenant-account plimsoll-composer --monitoring
  plimsoll install --shard eu --shard us -- --function-timeout=1m"
)]
pub(crate) struct Install {
    /// Image of the operator, by tag or by digest
    #[arg(long, value_name = "IMAGE", default_value = IMAGE)]
    pub(crate) image: String,
    /// Secret with the credentials of the image's registry; can be repeated
    #[arg(long = "pull-secret", value_name = "NAME")]
    pub(crate) pull_secrets: Vec<String>,
    /// Controllers to run; those left out get neither CRDs nor roles
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = halves(),
          default_values = Half::ALL.iter().map(|half| half.name()))]
    pub(crate) controllers: Vec<Half>,
    /// Kinds at Oracle Cloud to install instead of the usual ones: SERVICE/KIND, or a pattern such as `database/*`; can be
    /// repeated
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    pub(crate) kinds: Vec<String>,
    /// Replicas of each Deployment: one works, the others wait for the lease
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) replicas: u16,
    /// Run one more Deployment for the objects with the label plimsoll.dev/shard=NAME; can be repeated
    #[arg(long = "shard", value_name = "NAME", value_parser = label)]
    pub(crate) shards: Vec<String>,
    /// Let the operator grant itself access to the kinds that XRDs define; its account is then as powerful as cluster-admin
    #[arg(long)]
    pub(crate) grant_defined_kinds: bool,
    /// Also install the roles that users of XRs and claims are bound to: crossplane-admin, -edit, -view and -browse
    #[arg(long)]
    pub(crate) user_roles: bool,
    /// Compose as the service account of this name in the namespace of each XR or claim
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub(crate) tenant_account: Option<String>,
    /// Secret with environment variables for the operator, such as credentials for Oracle Cloud; can be repeated
    #[arg(long = "env-secret", value_name = "NAME")]
    pub(crate) env_secrets: Vec<String>,
    /// Serve metrics to Prometheus behind authentication, with alerts and a dashboard; needs the Prometheus operator
    #[arg(long)]
    pub(crate) monitoring: bool,
    /// Do not install the NetworkPolicy
    #[arg(long)]
    pub(crate) no_network_policy: bool,
    /// Show what would change and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Wait until the CRDs are served and the operator is ready
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) wait: bool,
    /// Time limit for each object to become ready
    #[arg(long, value_name = "DURATION", value_parser = go_duration, default_value = "5m", requires = "wait")]
    pub(crate) timeout: GoDuration,
    /// Take fields that other managers hold
    #[arg(long)]
    pub(crate) force_conflicts: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Further arguments of the operator; `plimsoll operator --help` lists them
    #[arg(last = true, value_name = "OPERATOR OPTION")]
    pub(crate) operator: Vec<String>,
}

#[derive(Args, Debug)]
#[command(
    mut_arg("namespace", |arg| arg.help(format!("Namespace of the operator [default: {NAMESPACE}]"))),
    after_help = "The CRDs with all their objects and the namespace stay unless --purge is given.

Exit status: 0 everything is gone, 1 something is not

Examples:
  plimsoll uninstall
  plimsoll uninstall --purge"
)]
pub(crate) struct Uninstall {
    /// Also delete the CRDs and the namespace; refused while objects of these kinds exist
    #[arg(long)]
    pub(crate) purge: bool,
    /// How long to wait for each object before reporting what blocks its deletion
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// A name that is also a label value and part of other names.
fn label(text: &str) -> Result<String, String> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_valid = text.len() <= 40
        && text.bytes().all(|byte| is_letter(byte) || byte == b'-')
        && text.bytes().next().is_some_and(is_letter)
        && text.bytes().next_back().is_some_and(is_letter);
    if is_valid {
        return Ok(text.to_owned());
    }
    Err("write up to 40 lowercase letters, digits and hyphens, with no hyphen at either end".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_can_be_part_of_a_name() {
        for valid in ["eu", "a", "eu-west-1"] {
            assert_eq!(label(valid).as_deref(), Ok(valid));
        }
        for invalid in ["", "-a", "a-", "EU", "a_b", "a.b", &"a".repeat(41)] {
            assert!(label(invalid).is_err(), "{invalid}");
        }
    }
}
