//! `plimsoll crds`

use clap::Args;
use operator::Half;

use super::cluster::ClusterArgs;
use super::operator::halves;

/// What the definitions understand.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll crds > crds.yaml
  plimsoll crds --controllers oci -o json
  plimsoll crds --apply --context production")]
pub(crate) struct Crds {
    /// Install them in the cluster, and wait until they are served, instead of printing them
    #[arg(long)]
    pub(crate) apply: bool,
    /// Only what these halves of the operator look after
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = halves(),
          default_values = Half::ALL.iter().map(|half| half.name()))]
    pub(crate) controllers: Vec<Half>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
