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

    /// Whether its name is that of a controller, which sets its fields again and again. A person's tool sets them once.
    pub(crate) fn is_controller(&self) -> bool {
        const PARTS: [&str; 7] =
            ["controller", "operator", "autoscaler", "argocd", "flux", "keda", "kubelet"];
        let name = self.0.to_lowercase();
        matches!(name.as_str(), "hpa" | "vpa") || PARTS.iter().any(|part| name.contains(part))
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
