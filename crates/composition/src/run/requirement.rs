//! What a function asks to be called again with: other objects and schemas.

use std::collections::BTreeMap;

use manifest::{GroupVersionKind, KindError};
use serde::Deserialize;

/// Everything one answer asks for, by the names under which it wants to be given it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The deprecated twin of `resources`, answered in the deprecated field of the request.
    pub extra_resources: BTreeMap<String, ResourceSelector>,
    /// Objects.
    pub resources: BTreeMap<String, ResourceSelector>,
    /// OpenAPI schemas of kinds.
    pub schemas: BTreeMap<String, SchemaSelector>,
}

impl Requirements {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.extra_resources.is_empty() && self.resources.is_empty() && self.schemas.is_empty()
    }
}

/// Which objects of a kind are asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceSelector {
    /// The group and version, for instance `apps/v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// Which of them.
    pub matching: Match,
    /// Where: absent means all namespaces, or a cluster-scoped object when asked for by name.
    pub namespace: Option<String>,
}

impl ResourceSelector {
    /// The kind asked for, if it is one: functions may write anything.
    pub fn gvk(&self) -> Result<GroupVersionKind, KindError> {
        GroupVersionKind::new(self.api_version.parse()?, &self.kind)
    }
}

/// How objects of a kind are picked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Match {
    /// Every object of the kind: the message sets no match at all.
    All,
    /// The one of this name.
    Name(String),
    /// Those that carry all of these labels.
    Labels(BTreeMap<String, String>),
}

/// Which schema is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SchemaSelector {
    /// The group and version, for instance `apps/v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
}
