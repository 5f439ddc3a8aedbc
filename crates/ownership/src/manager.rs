//! Field managers: a name and an operation.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The name of a field manager, as managedFields record it. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct FieldManager(Arc<str>);

impl FieldManager {
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FieldManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for FieldManager {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

impl From<FieldManager> for String {
    fn from(manager: FieldManager) -> Self {
        manager.as_str().to_owned()
    }
}

/// How a manager wrote: by server-side apply, which replaces what it holds, or by any other request, which adds to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    Apply,
    /// Also creates and patches.
    Update,
}
