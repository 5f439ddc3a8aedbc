//! `plimsoll crds`

use clap::Args;
use operator::Half;

use super::cluster::ClusterArgs;
use super::operator::halves;

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 done, 1 error

Examples:
  plimsoll crds > crds.yaml
  plimsoll crds --controllers oci -o json
  plimsoll crds --kinds 'queue/*' --apply
  plimsoll crds --apply --context production")]
pub(crate) struct Crds {
    /// Install the CRDs and wait until they are served, instead of printing them
    #[arg(long)]
    pub(crate) apply: bool,
    /// Controllers whose kinds to include
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = halves(),
          default_values = Half::ALL.iter().map(|half| half.name()))]
    pub(crate) controllers: Vec<Half>,
    /// Kinds at Oracle Cloud to include instead of the usual ones: SERVICE/KIND, a pattern such as `database/*`, or a file
    /// of descriptions; can be repeated
    #[arg(long, value_name = "PATTERN|FILE", value_delimiter = ',')]
    pub(crate) kinds: Vec<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
