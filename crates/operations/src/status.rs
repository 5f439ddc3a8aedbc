//! The status that every kind embeds: OSOK's contract at `.status.status`, and beside it what Kubernetes tools expect.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::binding::Binding;
use crate::condition::{Condition, SharedCondition};
use crate::operation::{LastOperation, Operation};

/// What this crate keeps in an object's `.status`; a kind flattens it next to the fields it observes. Everything that
/// must survive a restart is in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
// Clients of OSOK rely on the inner status being there.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(extend("required" = ["status"])))]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The latest generation that was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Ready`, `Progressing` and `Stalled`, one entry each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))
    )]
    pub conditions: Vec<Condition>,
    /// The status in the format of OSOK, Oracle's service operator.
    #[serde(default)]
    pub status: SharedStatus,
}

/// OSOK's contract, at `.status.status`, under OSOK's names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SharedStatus {
    /// OSOK's conditions, at most one entry per type, the current one last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<SharedCondition>,
    /// The operation in flight and the previous one.
    #[serde(default, rename = "async")]
    pub tracker: Tracker,
    /// The request id to quote to the provider's support: of the last mutation or reported error, never of a
    /// successful read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opc_request_id: Option<String>,
    /// The id of the resource at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 255)))]
    pub ocid: Option<String>,
    /// Where the resource is, and with whose credentials it was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<Binding>,
    /// What was last sent in fields that the provider does not show, as hashes; of a secret, the hash of its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<BTreeMap<String, String>>,
    /// The message of the current condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The type of the current condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When the object was first reconciled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_at: Option<Timestamp>,
    /// When the id of the resource became known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When another field of this status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// When the resource was found to be deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
}

/// `.status.status.async`: at most one operation in flight, and how the previous one ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Tracker {
    /// The operation in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<Operation>,
    /// How the previous operation ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
}

impl Status {
    pub const fn current(&self) -> Option<&Operation> {
        self.status.tracker.current.as_ref()
    }

    pub const fn last_operation(&self) -> Option<&LastOperation> {
        self.status.tracker.last_operation.as_ref()
    }

    pub fn ocid(&self) -> Option<&str> {
        self.status.ocid.as_deref()
    }

    pub fn condition(&self, kind: crate::ConditionType) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Records the request id of a mutation or a reported error; a missing or blank one keeps the last.
    pub(crate) fn set_request_id(&mut self, request_id: Option<&str>) {
        if let Some(id) = request_id.map(str::trim).filter(|id| !id.is_empty()) {
            self.status.opc_request_id = Some(id.to_owned());
        }
    }

    /// Binds the object to a resource; the time is that of the first binding.
    pub(crate) fn bind(&mut self, ocid: &str, now: Timestamp) {
        if self.ocid() != Some(ocid) {
            self.status.ocid = Some(ocid.to_owned());
            self.status.created_at = Some(now);
        }
    }

    /// Forgets a resource that is proven to be gone.
    pub(crate) fn unbind(&mut self) {
        self.status.ocid = None;
        self.status.created_at = None;
        self.status.binding = None;
        self.status.sent = None;
    }

    /// Sets `updatedAt`, of the operation and of the whole, only if another field changed since `before`: a reconcile
    /// that observes nothing new writes nothing.
    pub(crate) fn stamp(&mut self, before: &Self, now: Timestamp) {
        if let Some(current) = &mut self.status.tracker.current {
            if let Some(old) = before.current() {
                // Except when the clock was set back: a time in the future is useless.
                current.updated_at = old.updated_at.min(now);
            }
            if before.current() != Some(current) {
                current.updated_at = now;
            }
        }
        self.status.updated_at = before.status.updated_at;
        if self.status != before.status {
            self.status.updated_at = Some(now);
        }
    }
}

#[cfg(test)]
mod tests;
