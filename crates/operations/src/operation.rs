//! One operation at a cloud, as it is published in status: which mutation, how far, under which id.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Where an observation of an operation came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Nobody follows it.
    None,
    /// The state of the resource itself.
    Lifecycle,
    /// A work request.
    WorkRequest,
}

/// Which mutation is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The resource is being made.
    Create,
    /// The resource is being changed.
    Update,
    /// The resource is being removed.
    Delete,
}

impl Phase {
    /// Every phase, in the order people meet them.
    pub const ALL: [Self; 3] = [Self::Create, Self::Update, Self::Delete];

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
    /// Accepted and not finished.
    Pending,
    /// Finished as asked.
    Succeeded,
    /// Ended without the outcome asked for.
    Failed,
    /// Ended because somebody stopped it.
    Canceled,
    /// Waits for a person.
    Attention,
    /// In a state that we do not know.
    Unknown,
}

impl Class {
    /// Every class, in the order of the published enum.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Succeeded, Self::Failed, Self::Canceled, Self::Attention, Self::Unknown];

    /// The word used in status.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Attention => "attention",
            Self::Unknown => "unknown",
        }
    }
}

/// A share of the work, always between 0 and 100: the published schema refuses anything else, and one bad answer
/// must not make the whole status unwritable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Percent(f64);

impl Percent {
    /// What a provider reported: clamped to 0..=100, and nothing at all when it is not a number.
    pub fn reported(value: f64) -> Option<Self> {
        (!value.is_nan()).then(|| Self(value.clamp(0.0, 100.0)))
    }

    /// The share, from 0 to 100.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl From<f64> for Percent {
    fn from(value: f64) -> Self {
        Self::reported(value).unwrap_or(Self(0.0))
    }
}

impl From<Percent> for f64 {
    fn from(percent: Percent) -> Self {
        percent.0
    }
}

/// The operation in flight: `.status.status.async.current`.
///
/// Names and enums up to `updatedAt` are the shared contract; what follows lets an operation survive a crash
/// between its call and the answer. Provider enums never appear here, their values are plain strings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// Where the last observation came from.
    pub source: Source,
    /// Which mutation it is.
    pub phase: Phase,
    /// The provider's handle, also kept when the resource's own state is what we follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_request_id: Option<String>,
    /// The provider's word for how it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_status: Option<String>,
    /// The provider's word for what it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_operation_type: Option<String>,
    /// How it stands.
    pub normalized_class: Class,
    /// How much of it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>", range(min = 0, max = 100)))]
    pub percent_complete: Option<Percent>,
    /// The same for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When another field of this operation last changed.
    pub updated_at: Timestamp,
    /// When the intent was written down, which is before the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// The generation of the object that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The number of this operation within its generation, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The retry token of the create call, for kinds that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// SHA-256 of the body that was or will be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_hash: Option<String>,
    /// When it is called stalled, though still followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

impl Operation {
    /// A pending operation that nothing more is known of yet.
    pub const fn pending(source: Source, phase: Phase, now: Timestamp) -> Self {
        Self {
            source,
            phase,
            work_request_id: None,
            raw_status: None,
            raw_operation_type: None,
            normalized_class: Class::Pending,
            percent_complete: None,
            message: None,
            updated_at: now,
            started_at: None,
            generation: None,
            attempt: None,
            token: None,
            body_hash: None,
            deadline: None,
        }
    }
}

/// How the previous operation ended: `.status.status.async.lastOperation`. It outlives the handle, so the reason of
/// a failure stays readable while the next attempt is already under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LastOperation {
    /// Which mutation it was.
    pub phase: Phase,
    /// How it ended: succeeded, failed or canceled.
    pub normalized_class: Class,
    /// The handle it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_request_id: Option<String>,
    /// The provider's last word for how it stood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_status: Option<String>,
    /// The provider's word for what it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_operation_type: Option<String>,
    /// The outcome for people, with the provider's own explanation where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The generation of the object that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Its number within that generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// SHA-256 of the body it sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_hash: Option<String>,
    /// When its intent was written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When we learned how it ended.
    pub finished_at: Timestamp,
    /// How many operations in a row, this one included, brought the object no further; 0 after a success.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fruitless: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}
