//! The options about sets of objects, as kubectl has them, and `plimsoll applysets`

use std::str::FromStr;

use clap::Args;

use super::cluster::{ClusterArgs, TypeName};

/// Which set objects belong to, and what becomes of members that are no longer in the files.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SetArgs {
    /// Set that the objects belong to, as in `shop`, `configmaps/shop` or `apps.example.org/shop`; the parent is a Secret by default
    #[arg(long, value_name = "[RESOURCE[.GROUP]/]NAME")]
    pub(crate) applyset: Option<ParentName>,
    /// Delete members of the set that are not in the files
    #[arg(long, requires = "applyset")]
    pub(crate) prune: bool,
    /// Take over a set that another tool manages
    #[arg(long, requires = "applyset")]
    pub(crate) adopt_applyset: bool,
}

/// The parent of a set as users type it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParentName(pub(crate) TypeName);

impl FromStr for ParentName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("write the name of the set, for instance shop".to_owned()),
            _ if text.contains('/') => text.parse().map(Self),
            _ => Ok(Self(TypeName { kind: "secrets".to_owned(), name: text.to_owned() })),
        }
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 done, 1 error

Examples:
  plimsoll applysets
  plimsoll applysets -A -o json")]
pub(crate) struct ApplySets {
    /// Search all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub(crate) all_namespaces: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
