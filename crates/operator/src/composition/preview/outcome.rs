//! What would happen to one XR and what it is composed of.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::composition::recording::Finding;
use crate::composition::requests::Named;

/// What would happen to one XR.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct XrPreview {
    /// Why nothing would be composed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Fields of the XR that its new schema does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pruned: Vec<String>,
    /// Results of functions, and what people should know about what they desire.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Who would apply what the XR is composed of.
    pub manager: String,
    /// In the order in which they would be written.
    pub composed: Vec<ComposedPreview>,
}

/// What would happen to one composed resource.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ComposedPreview {
    /// Its name in the composition.
    pub key: String,
    pub object: Named,
    pub outcome: ComposedOutcome,
}

/// Values of Secrets are masked in all of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "is")]
pub enum ComposedOutcome {
    /// It is as desired already.
    Unchanged,
    /// What would be sent, and what the API server would make of it.
    Applied {
        intent: Value,
        before: Option<Value>,
        after: Value,
        warnings: Vec<String>,
    },
    Deleted {
        before: Option<Value>,
        finalizers: Vec<String>,
    },
    /// The API server would reject it.
    Refused {
        summary: String,
        detail: String,
        hint: Option<String>,
    },
    /// The reader may not read it.
    Hidden,
}
