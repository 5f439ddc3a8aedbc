//! Tags, as people write them and as status shows them.

use std::collections::BTreeMap;

/// Tags without a schema: key and value.
pub type FreeformTags = BTreeMap<String, String>;

/// Tags of namespaces that the tenancy defines: namespace, key and value.
pub type DefinedTags = BTreeMap<String, BTreeMap<String, String>>;
