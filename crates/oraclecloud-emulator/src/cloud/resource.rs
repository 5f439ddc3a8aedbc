//! Queues and Streams.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::work_request::WorkRequest;
use crate::ids::REGION;
use crate::route::Operation;
use crate::timeline::Outcome;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Queue,
    Stream,
}

impl Kind {
    pub(super) const fn of(operation: Operation) -> Self {
        match operation {
            Operation::CreateStream
            | Operation::GetStream
            | Operation::ListStreams
            | Operation::UpdateStream
            | Operation::DeleteStream => Self::Stream,
            _ => Self::Queue,
        }
    }

    /// In identifiers and work requests.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Stream => "stream",
        }
    }

    pub(super) const fn name_field(self) -> &'static str {
        match self {
            Self::Queue => "displayName",
            Self::Stream => "name",
        }
    }
}

#[derive(Debug)]
pub(super) struct Resource {
    /// The tenancy and region it is in.
    pub(super) place: String,
    pub(super) kind: Kind,
    pub(super) id: String,
    /// In the order of creation.
    pub(super) number: u64,
    /// As sent, with defaults.
    pub(super) fields: Map<String, Value>,
    pub(super) state: String,
    pub(super) details: Option<String>,
    pub(super) etag: String,
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
    /// The work request that is changing it.
    pub(super) busy: Option<String>,
    /// The work request that created it.
    pub(super) creation: String,
    /// The work request that deleted it.
    pub(super) deletion: Option<String>,
}

impl Resource {
    pub(super) fn compartment(&self) -> &str {
        self.text("compartmentId")
    }

    pub(super) fn name(&self) -> &str {
        self.text(self.kind.name_field())
    }

    pub(super) fn text(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// Applies the outcome of the work request that was changing it.
    pub(super) fn complete(&mut self, work: &WorkRequest, now: Timestamp) {
        self.busy = None;
        self.updated = now;
        let succeeded = work.progress.timeline.outcome == Outcome::Succeed;
        match work.operation {
            Operation::CreateQueue | Operation::CreateStream if !succeeded => {
                "FAILED".clone_into(&mut self.state);
                self.details = Some(match &work.progress.timeline.outcome {
                    Outcome::Fail { message, .. } => message.clone(),
                    _ => "The create was canceled.".to_owned(),
                });
            }
            Operation::DeleteQueue | Operation::DeleteStream if succeeded => {
                "DELETED".clone_into(&mut self.state);
                self.deletion = Some(work.id.clone());
            }
            Operation::DeleteQueue | Operation::DeleteStream => self.state.clone_from(&work.state_before),
            _ => {
                "ACTIVE".clone_into(&mut self.state);
                if succeeded {
                    self.fields.extend(work.change.clone());
                    // Clients remove the key by an empty id.
                    self.fields.retain(|name, value| name != "customEncryptionKeyId" || value != "");
                }
            }
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let mut body = self.fields.clone();
        let (details, cell) = match self.kind {
            Kind::Queue => ("lifecycleDetails", "queue.messaging"),
            Kind::Stream => ("lifecycleStateDetails", "streaming"),
        };
        let own = [
            ("id", json!(self.id)),
            ("lifecycleState", json!(self.state)),
            ("timeCreated", json!(self.created.to_string())),
            ("messagesEndpoint", json!(format!("https://cell-1.{cell}.{REGION}.oci.oraclecloud.com"))),
        ];
        body.extend(own.map(|(name, value)| (name.to_owned(), value)));
        if let Some(text) = &self.details {
            body.insert(details.to_owned(), json!(text));
        }
        if self.kind == Kind::Queue {
            body.insert("timeUpdated".to_owned(), json!(self.updated.to_string()));
            // Only the type of a capability is returned.
            if let Some(Value::Array(capabilities)) = body.get_mut("capabilities") {
                for capability in capabilities {
                    *capability = json!({"type": capability.get("type")});
                }
            }
        }
        Value::Object(body)
    }

    /// The entry in a listing.
    pub(super) fn summary(&self) -> Value {
        const NOT_LISTED: [&str; 7] = [
            "retentionInSeconds",
            "visibilityInSeconds",
            "timeoutInSeconds",
            "deadLetterQueueDeliveryCount",
            "channelConsumptionLimit",
            "customEncryptionKeyId",
            "retentionInHours",
        ];
        let mut body = self.to_json();
        if let Value::Object(fields) = &mut body {
            fields.retain(|name, _| !NOT_LISTED.contains(&name.as_str()));
            if let Some(Value::Array(capabilities)) = fields.get_mut("capabilities") {
                for capability in capabilities {
                    *capability = capability.get("type").cloned().unwrap_or_default();
                }
            }
        }
        body
    }
}
