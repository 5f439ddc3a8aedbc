//! A Queue or a Stream as the cloud has it.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::work::Work;
use crate::identity::REGION;
use crate::route::Operation;
use crate::timeline::Outcome;

/// What a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Queue,
    Stream,
}

impl Kind {
    /// Its word in identifiers and work requests.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Stream => "stream",
        }
    }

    /// The field that holds its name.
    pub(super) const fn name_field(self) -> &'static str {
        match self {
            Self::Queue => "displayName",
            Self::Stream => "name",
        }
    }
}

/// A resource.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) kind: Kind,
    pub(super) id: String,
    /// Its place in the order of creation.
    pub(super) number: u64,
    /// What was sent, with defaults.
    pub(super) fields: Map<String, Value>,
    pub(super) state: String,
    pub(super) details: Option<String>,
    pub(super) etag: String,
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
    /// The work that is changing it.
    pub(super) busy: Option<String>,
    /// The work that made it.
    pub(super) creation: String,
    /// The work that removed it.
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

    /// The outcome of the work that was changing it.
    pub(super) fn settle(&mut self, work: &Work, now: Timestamp) {
        self.busy = None;
        self.updated = now;
        let succeeded = work.progress.timeline.outcome == Outcome::Succeed;
        match work.operation {
            Operation::CreateQueue | Operation::CreateStream if !succeeded => {
                "FAILED".clone_into(&mut self.state);
                self.details = Some(work.failure().unwrap_or_else(|| "The create was canceled.".to_owned()));
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
                    // An empty key id is how a client takes the key away.
                    self.fields.retain(|name, value| name != "customEncryptionKeyId" || value != "");
                }
            }
        }
    }

    /// All of it, as a read answers.
    pub(super) fn show(&self) -> Value {
        let mut shown = self.fields.clone();
        let details = match self.kind {
            Kind::Queue => "lifecycleDetails",
            Kind::Stream => "lifecycleStateDetails",
        };
        let cell = match self.kind {
            Kind::Queue => "queue.messaging",
            Kind::Stream => "streaming",
        };
        let own = [
            ("id", json!(self.id)),
            ("lifecycleState", json!(self.state)),
            ("timeCreated", json!(self.created.to_string())),
            ("messagesEndpoint", json!(format!("https://cell-1.{cell}.{REGION}.oci.oraclecloud.com"))),
        ];
        shown.extend(own.map(|(name, value)| (name.to_owned(), value)));
        if let Some(text) = &self.details {
            shown.insert(details.to_owned(), json!(text));
        }
        if self.kind == Kind::Queue {
            shown.insert("timeUpdated".to_owned(), json!(self.updated.to_string()));
            // Only the type of a capability is told again.
            if let Some(Value::Array(capabilities)) = shown.get_mut("capabilities") {
                for capability in capabilities {
                    *capability = json!({"type": capability.get("type")});
                }
            }
        }
        Value::Object(shown)
    }

    /// What a listing shows of it.
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
        let mut shown = self.show();
        if let Value::Object(fields) = &mut shown {
            fields.retain(|name, _| !NOT_LISTED.contains(&name.as_str()));
            if let Some(Value::Array(capabilities)) = fields.get_mut("capabilities") {
                for capability in capabilities {
                    *capability = capability.get("type").cloned().unwrap_or_default();
                }
            }
        }
        shown
    }
}
