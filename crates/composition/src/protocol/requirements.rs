//! What a function wants to be called again with: other objects and schemas.

use std::collections::BTreeMap;

use manifest::{GroupVersionKind, KindError};
use serde::Deserialize;

/// The requirements of one response, by the names under which the function gets the answers.
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
    pub const NONE: Self =
        Self { extra_resources: BTreeMap::new(), resources: BTreeMap::new(), schemas: BTreeMap::new() };

    pub fn is_empty(&self) -> bool {
        self.extra_resources.is_empty() && self.resources.is_empty() && self.schemas.is_empty()
    }

    /// These, and what `response` requires under other names or instead. In the deprecated field only the last counts.
    #[must_use]
    pub fn and(&self, response: &Self) -> Self {
        let mut all = Self { extra_resources: response.extra_resources.clone(), ..self.clone() };
        all.resources.extend(response.resources.clone());
        all.schemas.extend(response.schemas.clone());
        all
    }
}

/// Which objects of a kind are required.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceSelector {
    /// The group and version, for instance `apps/v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    pub matching: Match,
    /// Absent means all namespaces, or a cluster-scoped object when selected by name.
    pub namespace: Option<String>,
}

impl ResourceSelector {
    /// The required kind; functions may write anything, so it may not be one.
    pub fn gvk(&self) -> Result<GroupVersionKind, KindError> {
        GroupVersionKind::new(self.api_version.parse()?, &self.kind)
    }
}

/// How objects of a kind are selected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Match {
    /// Every object of the kind: the message sets no match at all.
    All,
    /// The one of this name.
    Name(String),
    /// Those that carry all of these labels.
    Labels(BTreeMap<String, String>),
}

/// Which schema is required.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SchemaSelector {
    /// The group and version, for instance `apps/v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
}
