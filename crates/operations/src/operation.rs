//! One operation at a cloud, as published in status: which mutation, how far along, under which work request.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Where an observation of an operation came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Source {
    None,
    // The state of the resource itself.
    Lifecycle,
    WorkRequest,
}

/// Which mutation is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Create,
    Update,
    Delete,
}

impl Phase {
    /// The word used in status and in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// How an operation stands, whatever words its provider uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Class {
    Pending,
    Succeeded,
    Failed,
    Canceled,
    // Waits for a person.
    Attention,
    // The provider reports a status that is not modelled.
    Unknown,
}

/// A percentage between 0 and 100. The published schema rejects anything else, and one bad response must not make the
/// whole status unwritable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "f64")]
pub struct Percent(f64);

impl Percent {
    /// What a provider reported, clamped to 0..=100; nothing when it is not a number.
    pub fn reported(value: f64) -> Option<Self> {
        (!value.is_nan()).then(|| Self(value.clamp(0.0, 100.0)))
    }

    /// The percentage, from 0 to 100.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl From<f64> for Percent {
    fn from(value: f64) -> Self {
        Self::reported(value).unwrap_or(Self(0.0))
    }
}

/// What is recorded of an operation while it is in flight and after it ended. Provider enums never appear here: their
/// values are plain strings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OperationRecord {
    /// Which mutation it is.
    pub phase: Phase,
    /// How it stands, or how it ended.
    pub normalized_class: Class,
    /// The id of the provider's work request, recorded even when the state of the resource is what is followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_request_id: Option<String>,
    /// The status that the provider reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_status: Option<String>,
    /// The operation type that the provider reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_operation_type: Option<String>,
    /// How it stands in a sentence, with the provider's own explanation if it gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The generation of the object that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The number of this operation within its generation, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// SHA-256 of the request body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_hash: Option<String>,
    /// When its intent was recorded, which is before the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
}

/// The operation in flight: `.status.status.async.current`.
///
/// `startedAt`, `generation`, `attempt`, `token`, `bodyHash`, `sent` and `deadline` are not part of OSOK's contract: they let an
/// operation survive a crash between its call and the response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    #[serde(flatten)]
    pub record: OperationRecord,
    /// Where the last observation came from.
    pub source: Source,
    /// How much of it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>", range(min = 0, max = 100)))]
    pub percent_complete: Option<Percent>,
    /// When another field of this operation last changed.
    pub updated_at: Timestamp,
    /// The retry token of the create call, for kinds that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// What it sends in fields that the provider does not show, as hashes; of a secret, the hash of its version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sent: BTreeMap<String, String>,
    /// When it counts as stalled; it is still followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

impl Operation {
    /// A pending operation about which nothing more is known yet.
    pub const fn pending(source: Source, phase: Phase, now: Timestamp) -> Self {
        Self {
            record: OperationRecord {
                phase,
                normalized_class: Class::Pending,
                work_request_id: None,
                raw_status: None,
                raw_operation_type: None,
                message: None,
                generation: None,
                attempt: None,
                body_hash: None,
                started_at: None,
            },
            source,
            percent_complete: None,
            updated_at: now,
            token: None,
            sent: BTreeMap::new(),
            deadline: None,
        }
    }
}

/// How the previous operation ended: `.status.status.async.lastOperation`. It keeps the reason of a failure readable
/// while the next attempt is under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LastOperation {
    #[serde(flatten)]
    pub record: OperationRecord,
    /// When its end was observed.
    pub finished_at: Timestamp,
    /// How many operations in a row, this one included, made no progress; 0 after a success.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fruitless: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}
