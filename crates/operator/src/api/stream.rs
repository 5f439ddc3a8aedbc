//! `streaming.oracle.com/v1beta1 Stream`.
//!
//! As with a queue, an absent field is left alone and ranges are bounds in the schema.

use kube::CustomResource;
use kube::core::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::status::Tracked;
use super::tags::{DefinedTags, FreeformTags};

/// What is asked of a stream.
///
/// A stream lies in a compartment or in a pool. It can go from a compartment's default pool into a pool of one's
/// own, and from pool to pool; the way back has no name to write down.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "streaming.oracle.com",
    version = "v1beta1",
    kind = "Stream",
    namespaced,
    status = "StreamStatus",
    derive = "PartialEq",
    doc = "A stream in Oracle Cloud."
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = spec_rules()))]
pub struct StreamSpec {
    /// The name of the stream. Cannot be changed.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The number of partitions. Cannot be changed.
    #[schemars(range(min = 1))]
    pub partitions: i64,
    /// The compartment the stream lies in, unless `streamPoolId` is set. Cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub compartment_id: Option<String>,
    /// The pool the stream lies in, unless `compartmentId` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub stream_pool_id: Option<String>,
    /// How long a message is kept; 24 when absent. Cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 24, max = 168))]
    pub retention_in_hours: Option<i64>,
    /// Tags without a schema. Tags that are not named here are left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeform_tags: Option<FreeformTags>,
    /// Tags of the tenancy's namespaces. Tags that are not named here are left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defined_tags: Option<DefinedTags>,
}

fn spec_rules() -> Vec<Rule> {
    vec![
        Rule::new("has(self.compartmentId) != has(self.streamPoolId)")
            .message("exactly one of compartmentId and streamPoolId must be set"),
        Rule::new("self.name == oldSelf.name")
            .message("name cannot be changed after the stream is created")
            .field_path(".name"),
        Rule::new("self.partitions == oldSelf.partitions")
            .message("partitions cannot be changed after the stream is created")
            .field_path(".partitions"),
        Rule::new(
            "!has(oldSelf.retentionInHours) || has(self.retentionInHours) && \
             self.retentionInHours == oldSelf.retentionInHours",
        )
        .message("retentionInHours can be neither changed nor removed after the stream is created"),
        Rule::new(
            "!has(oldSelf.compartmentId) || !has(self.compartmentId) || \
             self.compartmentId == oldSelf.compartmentId",
        )
        .message("compartmentId cannot be changed after the stream is created")
        .field_path(".compartmentId"),
        Rule::new("!has(oldSelf.streamPoolId) || has(self.streamPoolId)")
            .message("streamPoolId can be changed to another pool, but not removed"),
    ]
}

/// What is known about a stream.
pub type StreamStatus = Tracked<ObservedStream>;

/// A stream as Oracle Cloud shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObservedStream {
    /// Its identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number of partitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<i64>,
    /// How long a message is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_in_hours: Option<i64>,
    /// The compartment it lies in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compartment_id: Option<String>,
    /// The pool it lies in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_pool_id: Option<String>,
    /// Oracle's word for its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle_state: Option<String>,
    /// What Oracle says about that state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle_state_details: Option<String>,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_created: Option<String>,
    /// Where messages are sent to and read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages_endpoint: Option<String>,
    /// Tags without a schema.
    #[serde(skip_serializing_if = "FreeformTags::is_empty")]
    pub freeform_tags: FreeformTags,
    /// Tags of the tenancy's namespaces.
    #[serde(skip_serializing_if = "DefinedTags::is_empty")]
    pub defined_tags: DefinedTags,
}
