//! The options about sets of objects, as kubectl has them, and `plimsoll applysets`

use std::str::FromStr;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use serde::{Deserialize, Serialize};

use super::cluster::{ClusterArgs, TypeName};
use crate::support::completion;

/// Which set objects belong to, and what becomes of members that are no longer in the files.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SetArgs {
    /// Set that the objects belong to, as in `shop`, `configmaps/shop` or `apps.example.org/shop`; the parent is a Secret by default
    #[arg(long, value_name = "[RESOURCE[.GROUP]/]NAME", add = ArgValueCompleter::new(completion::applysets))]
    pub(crate) applyset: Option<ParentName>,
    /// Delete members of the set that are not in the files
    #[arg(long, requires = "applyset")]
    pub(crate) prune: bool,
    /// Take over a set that another tool manages, and objects of other sets
    #[arg(long, requires = "applyset")]
    pub(crate) adopt_applyset: bool,
}

/// The parent of a set as users type it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ParentName(pub(crate) TypeName);

impl TryFrom<String> for ParentName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ParentName> for String {
    fn from(ParentName(TypeName { kind, name }): ParentName) -> Self {
        format!("{kind}/{name}")
    }
}

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
