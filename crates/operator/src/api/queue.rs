//! `queue.oracle.com/v1beta1 Queue`.
//!
//! An absent field is left to the service and to other tools; a field that is present counts, including zero and the empty
//! string. Ranges are bounds in the schema rather than CEL rules: editors and `kubectl explain` read them there, and they
//! are cheap to check.

use std::mem;

use jiff::Timestamp;
use kube::CustomResource;
use kube::core::Rule;
use operations::{LegacyWorkRequestIds, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::status::{KindStatus, Tracked};
use super::tags::{DefinedTags, FreeformTags};

/// What is asked of a queue.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "queue.oracle.com",
    version = "v1beta1",
    kind = "Queue",
    namespaced,
    status = "QueueStatus",
    derive = "PartialEq",
    doc = "A queue in Oracle Cloud."
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = spec_rules()))]
pub struct QueueSpec {
    /// The name that people see; it need not be unique.
    #[schemars(length(min = 1))]
    pub display_name: String,
    /// The compartment the queue lies in. Cannot be changed.
    #[schemars(length(min = 1))]
    pub compartment_id: String,
    /// How long a message is kept. Cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 604_800))]
    pub retention_in_seconds: Option<i64>,
    /// How long a message stays hidden after it was handed out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub visibility_in_seconds: Option<i64>,
    /// How long a request for messages waits for some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub timeout_in_seconds: Option<i64>,
    /// The share of the queue that one channel may use, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub channel_consumption_limit: Option<i64>,
    /// How often a message is handed out before it goes to the dead-letter queue; 0 is never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub dead_letter_queue_delivery_count: Option<i64>,
    /// The key that messages are encrypted with; the empty text goes back to Oracle's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_encryption_key_id: Option<String>,
    /// What the queue can do beyond the ordinary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<QueueCapability>>,
    /// Tags without a schema. Tags that are not named here are left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeform_tags: Option<FreeformTags>,
    /// Tags of the tenancy's namespaces. Tags that are not named here are left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defined_tags: Option<DefinedTags>,
}

fn spec_rules() -> Vec<Rule> {
    vec![
        Rule::new("self.compartmentId == oldSelf.compartmentId")
            .message("compartmentId cannot be changed after the queue is created")
            .field_path(".compartmentId"),
        Rule::new(
            "!has(oldSelf.retentionInSeconds) || has(self.retentionInSeconds) && \
             self.retentionInSeconds == oldSelf.retentionInSeconds",
        )
        .message("retentionInSeconds can be neither changed nor removed after the queue is created"),
    ]
}

/// Something that a queue can do beyond the ordinary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueCapability {
    /// Which one: `CONSUMER_GROUPS`, `LARGE_MESSAGES`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// A JSON object that is sent for it, with the other fields on top; for capabilities newer than these fields. A
    /// text that is no JSON object is sent as it stands, for the service to refuse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_data: Option<String>,
    /// Whether there is a primary consumer group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_primary_consumer_group_enabled: Option<bool>,
    /// The name of the primary consumer group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary_consumer_group_display_name: Option<String>,
    /// Which messages the primary consumer group gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary_consumer_group_filter: Option<String>,
    /// How often the primary consumer group is handed a message before it goes to the dead-letter queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub primary_consumer_group_dead_letter_queue_delivery_count: Option<i64>,
}

/// What is known about a queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueStatus {
    /// The shared contract and the conditions.
    #[serde(flatten)]
    pub progress: Status,
    /// The ids of work requests where older clients look for them.
    #[serde(flatten)]
    pub mirrors: LegacyWorkRequestIds,
    /// The queue as it was last seen.
    #[serde(flatten)]
    pub observed: ObservedQueue,
}

/// The mirrors follow the shared tracker. If an older operator left ids only there, its operations are resumed.
impl KindStatus for QueueStatus {
    fn recorded(&self, now: Timestamp) -> Status {
        let mut progress = self.progress.clone();
        self.mirrors.resume(&mut progress, now);
        progress
    }

    fn show(&mut self, status: Status, answer: Option<&Value>) {
        self.mirrors = LegacyWorkRequestIds::of(&status);
        let shown =
            Tracked { progress: mem::take(&mut self.progress), observed: mem::take(&mut self.observed) };
        Tracked { progress: self.progress, observed: self.observed } = shown.showing(status, answer);
    }
}

/// A queue as Oracle Cloud shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObservedQueue {
    /// Its identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The compartment it lies in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compartment_id: Option<String>,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_created: Option<String>,
    /// When it was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_updated: Option<String>,
    /// Oracle's word for its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle_state: Option<String>,
    /// What Oracle says about that state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle_details: Option<String>,
    /// Where messages are sent to and read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages_endpoint: Option<String>,
    /// How long a message is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_in_seconds: Option<i64>,
    /// How long a message stays hidden after it was handed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility_in_seconds: Option<i64>,
    /// How long a request for messages waits for some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_in_seconds: Option<i64>,
    /// The share of the queue that one channel may use, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_consumption_limit: Option<i64>,
    /// How often a message is handed out before it goes to the dead-letter queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_letter_queue_delivery_count: Option<i64>,
    /// The name that people see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The key that messages are encrypted with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_encryption_key_id: Option<String>,
    /// Tags without a schema.
    #[serde(skip_serializing_if = "FreeformTags::is_empty")]
    pub freeform_tags: FreeformTags,
    /// Tags of the tenancy's namespaces.
    #[serde(skip_serializing_if = "DefinedTags::is_empty")]
    pub defined_tags: DefinedTags,
    /// Oracle's own tags.
    #[serde(skip_serializing_if = "DefinedTags::is_empty")]
    pub system_tags: DefinedTags,
    /// What it can do beyond the ordinary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<QueueCapability>,
}
