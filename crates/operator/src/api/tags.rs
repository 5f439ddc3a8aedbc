//! Tags in specs and in status.

use std::collections::BTreeMap;

/// Key and value.
pub type FreeformTags = BTreeMap<String, String>;

/// Namespace, key and value.
pub type DefinedTags = BTreeMap<String, BTreeMap<String, String>>;
