//! The two tables from what is known to what is published, and the only code that sets either kind of condition.

use jiff::Timestamp;

use crate::condition::{self, Condition, ConditionStatus, ConditionType, SharedConditionType};
use crate::operation::{Class, Phase};
use crate::status::Status;

/// OSOK's table: the condition that becomes the current one, and its message when the provider gives none. Without a
/// phase the action is called `reconcile`.
pub(crate) fn shared_condition(class: Class, phase: Option<Phase>) -> (SharedConditionType, String) {
    use SharedConditionType::{Active, Failed, Provisioning, Terminating};
    let (condition, result) = match (class, phase) {
        (Class::Pending, _) => (phase.map_or(Provisioning, in_flight), "is in progress"),
        (Class::Succeeded, Some(Phase::Delete)) => (Terminating, "completed; waiting for final confirmation"),
        (Class::Succeeded, _) => (Active, "completed"),
        (Class::Failed, _) => (Failed, "failed"),
        (Class::Canceled, _) => (Failed, "was canceled"),
        (Class::Attention, _) => (Failed, "requires attention"),
        (Class::Unknown, _) => (Failed, "status is unknown"),
    };
    (condition, format!("OCI {} {result}", phase.map_or("reconcile", Phase::as_str)))
}

/// The condition type, and the reason, of an operation in flight.
const fn in_flight(phase: Phase) -> SharedConditionType {
    match phase {
        Phase::Create => SharedConditionType::Provisioning,
        Phase::Update => SharedConditionType::Updating,
        Phase::Delete => SharedConditionType::Terminating,
    }
}

/// Why an object makes no progress by itself; the name is the reason of its conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StallReason {
    /// The operation failed, or the provider shows the resource as failed.
    Failed,
    Canceled,
    /// The provider waits for a person.
    Attention,
    /// The provider reports a state that the kind does not have.
    Unknown,
    /// The response is the same for a missing resource and a missing permission.
    AccessOrAbsenceUnclear,
    AccessDenied,
    /// The provider, or a rule of the kind, rejects the spec.
    Rejected,
    /// The resource is gone, and the object asks for a report instead of a new one.
    Missing,
    /// The resource carries the tag of another object.
    HeldByAnother,
    /// The endpoint Secret cannot be written.
    EndpointSecret,
    /// The resource is in another region or tenancy than the credentials, or was bound with others.
    CredentialsChanged,
    /// The administrator does not allow what the object asks for.
    NotAllowed,
}

impl StallReason {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "Failed",
            Self::Canceled => "Canceled",
            Self::Attention => "Attention",
            Self::Unknown => "Unknown",
            Self::AccessOrAbsenceUnclear => "AccessOrAbsenceUnclear",
            Self::AccessDenied => "AccessDenied",
            Self::Rejected => "Rejected",
            Self::Missing => "Missing",
            Self::HeldByAnother => "HeldByAnother",
            Self::EndpointSecret => "EndpointSecret",
            Self::CredentialsChanged => "CredentialsChanged",
            Self::NotAllowed => "NotAllowed",
        }
    }

    /// Its class in OSOK's contract, which has fewer of them.
    pub(crate) const fn class(self) -> Class {
        match self {
            Self::Failed | Self::Rejected | Self::NotAllowed => Class::Failed,
            Self::Canceled => Class::Canceled,
            Self::Attention
            | Self::Missing
            | Self::HeldByAnother
            | Self::EndpointSecret
            | Self::CredentialsChanged => Class::Attention,
            Self::Unknown | Self::AccessOrAbsenceUnclear | Self::AccessDenied => Class::Unknown,
        }
    }
}

/// The outcome of a step, for the conditions that Kubernetes tools read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    /// The resource matches the spec.
    Ready,
    InFlight(Phase),
    /// A call failed with a transient error and is retried soon.
    Retrying,
    Stalled(StallReason),
    /// An operation is past its deadline; it is still followed.
    Overdue(Phase),
}

/// Status and reason of a condition.
type StatusReason = (ConditionStatus, &'static str);

const NOT_STALLED: StatusReason = (ConditionStatus::False, "AsExpected");

impl Outcome {
    /// `Ready`, `Progressing` and `Stalled`. A `Ready` of nothing keeps what was last published.
    const fn conditions(self) -> (Option<StatusReason>, StatusReason, StatusReason) {
        use ConditionStatus::{False, True};
        match self {
            Self::Ready => (Some((True, "Available")), (False, "Idle"), NOT_STALLED),
            Self::InFlight(phase) => {
                let reason = in_flight(phase).as_str();
                let usable = matches!(phase, Phase::Update);
                (if usable { None } else { Some((False, reason)) }, (True, reason), NOT_STALLED)
            }
            Self::Retrying => (None, (True, "Retrying"), NOT_STALLED),
            Self::Stalled(reason) => {
                let reason = reason.as_str();
                (Some((False, reason)), (False, reason), (True, reason))
            }
            Self::Overdue(phase) => (None, (True, in_flight(phase).as_str()), (True, "DeadlineExceeded")),
        }
    }
}

impl Status {
    /// Publishes a class and a phase in OSOK's conditions; without a message, the table's.
    pub(crate) fn publish_shared(
        &mut self,
        class: Class,
        phase: Option<Phase>,
        message: Option<&str>,
        now: Timestamp,
    ) {
        let (condition, default) = shared_condition(class, phase);
        let message = message.map(str::trim).filter(|text| !text.is_empty()).unwrap_or(&default);
        condition::make_current(&mut self.status.conditions, condition, message, now);
        self.status.reason = Some(condition.as_str().to_owned());
        self.status.message = Some(message.to_owned());
    }

    /// Publishes an outcome in `Ready`, `Progressing` and `Stalled`.
    ///
    /// A `Ready` that the outcome does not touch also keeps its observed generation, which is how `kubectl wait` sees
    /// that a newer spec is not applied yet.
    pub(crate) fn publish(&mut self, outcome: Outcome, message: &str, generation: i64, now: Timestamp) {
        let (ready, progressing, stalled) = outcome.conditions();
        let ready = match (ready, self.condition(ConditionType::Ready)) {
            (None, Some(_)) => None,
            (None, None) => Some((ConditionStatus::Unknown, progressing.1)),
            (ready, _) => ready,
        };
        for (kind, condition) in [
            (ConditionType::Ready, ready),
            (ConditionType::Progressing, Some(progressing)),
            (ConditionType::Stalled, Some(stalled)),
        ] {
            let Some((status, reason)) = condition else { continue };
            let message = if condition == Some(NOT_STALLED) { "" } else { message };
            let condition = Condition {
                kind,
                status,
                observed_generation: Some(generation),
                last_transition_time: now,
                reason: reason.to_owned(),
                message: message.to_owned(),
            };
            condition::set(&mut self.conditions, condition);
        }
        self.observed_generation = Some(generation);
    }
}

#[cfg(test)]
mod tests;
