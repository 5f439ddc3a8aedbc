//! `plimsoll crds`

use clap::Args;
use operator::Half;

use super::cluster::ClusterArgs;
use super::operator::halves;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  plimsoll crds > crds.yaml
  plimsoll crds --controllers oci -o json
  plimsoll crds --apply --context production")]
pub(crate) struct Crds {
    /// Install the CRDs and wait until they are served, instead of printing them
    #[arg(long)]
    pub(crate) apply: bool,
    /// Controllers whose kinds to include
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = halves(),
          default_values = Half::ALL.iter().map(|half| half.name()))]
    pub(crate) controllers: Vec<Half>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
