//! The two total mappings from what is known to what is published, and the only way to either kind of condition.

use jiff::Timestamp;

use crate::condition::{self, Condition, ConditionStatus, ConditionType, SharedConditionType};
use crate::operation::{Class, Phase};
use crate::status::Status;

/// What a class and a phase mean for the shared conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// The condition that becomes the current one.
    pub condition: SharedConditionType,
    /// Whether it is followed at the usual pace; what is not followed so gets the slow look.
    pub requeue: bool,
    /// What to say when the provider says nothing.
    pub message: String,
}

/// The shared contract's table; without a phase the action is called `reconcile`.
pub fn project(class: Class, phase: Option<Phase>) -> Projection {
    use SharedConditionType::{Active, Failed, Provisioning, Terminating, Updating};
    let in_flight = match phase {
        Some(Phase::Create) | None => Provisioning,
        Some(Phase::Update) => Updating,
        Some(Phase::Delete) => Terminating,
    };
    let (condition, requeue, outcome) = match (class, phase) {
        (Class::Pending, _) => (in_flight, true, "is in progress"),
        (Class::Succeeded, Some(Phase::Delete)) => {
            (Terminating, true, "completed; waiting for final confirmation")
        }
        (Class::Succeeded, _) => (Active, false, "completed"),
        (Class::Failed, _) => (Failed, false, "failed"),
        (Class::Canceled, _) => (Failed, false, "was canceled"),
        (Class::Attention, _) => (Failed, false, "requires attention"),
        (Class::Unknown, _) => (Failed, false, "status is unknown"),
    };
    let action = phase.map_or("reconcile", Phase::as_str);
    Projection { condition, requeue, message: format!("OCI {action} {outcome}") }
}

/// Why an object gets no further by itself; the name is the reason of its conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The provider says the operation failed.
    Failed,
    /// The provider says the operation was canceled.
    Canceled,
    /// The provider waits for a person.
    Attention,
    /// The provider uses a word that we do not know.
    Unknown,
    /// The provider answers as it does both for a missing resource and for a missing right.
    AccessOrAbsenceUnclear,
    /// The provider does not accept who we are or what we may do.
    AccessDenied,
    /// The provider, or a rule of the kind, does not accept the spec.
    Rejected,
    /// The resource is gone, and the object asks only to be told.
    Missing,
    /// The resource carries the tag of another object.
    HeldByAnother,
    /// The Secret that says where the resource can be reached cannot be ours.
    EndpointSecret,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 10] = [
        Self::Failed,
        Self::Canceled,
        Self::Attention,
        Self::Unknown,
        Self::AccessOrAbsenceUnclear,
        Self::AccessDenied,
        Self::Rejected,
        Self::Missing,
        Self::HeldByAnother,
        Self::EndpointSecret,
    ];

    /// The reason shown in conditions and events.
    pub const fn as_str(self) -> &'static str {
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
        }
    }

    /// The class it has in the shared contract, which knows fewer words.
    pub const fn class(self) -> Class {
        match self {
            Self::Failed | Self::Rejected => Class::Failed,
            Self::Canceled => Class::Canceled,
            Self::Attention | Self::Missing | Self::HeldByAnother | Self::EndpointSecret => Class::Attention,
            Self::Unknown | Self::AccessOrAbsenceUnclear | Self::AccessDenied => Class::Unknown,
        }
    }
}

/// How an object stands, for the conditions that Kubernetes tools read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Situation {
    /// Nothing to do, and the resource is as asked.
    Idle,
    /// An operation is in flight.
    InFlight(Phase),
    /// A call met trouble that passes; it is tried again soon.
    Retrying,
    /// It gets no further by itself.
    Stuck(Cause),
    /// An operation is in flight for longer than it should; it is still followed.
    Overdue(Phase),
}

/// A condition's status and reason.
pub type Statement = (ConditionStatus, &'static str);

/// What a situation means for the three conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// `Ready`, or nothing when the situation says nothing about it and the last statement stays.
    pub ready: Option<Statement>,
    /// `Progressing`.
    pub progressing: Statement,
    /// `Stalled`.
    pub stalled: Statement,
}

/// The reason of `Stalled=False`.
const AS_EXPECTED: &str = "AsExpected";

/// The table of situations.
pub const fn view(situation: Situation) -> View {
    use ConditionStatus::{False, True};
    match situation {
        Situation::Idle => View {
            ready: Some((True, "Available")),
            progressing: (False, "Idle"),
            stalled: (False, AS_EXPECTED),
        },
        Situation::InFlight(phase) => {
            let word = in_flight(phase);
            let ready = match phase {
                Phase::Create | Phase::Delete => Some((False, word)),
                Phase::Update => None,
            };
            View { ready, progressing: (True, word), stalled: (False, AS_EXPECTED) }
        }
        Situation::Retrying => {
            View { ready: None, progressing: (True, "Retrying"), stalled: (False, AS_EXPECTED) }
        }
        Situation::Stuck(cause) => {
            let word = cause.as_str();
            View { ready: Some((False, word)), progressing: (False, word), stalled: (True, word) }
        }
        Situation::Overdue(phase) => {
            View { ready: None, progressing: (True, in_flight(phase)), stalled: (True, "DeadlineExceeded") }
        }
    }
}

/// The reason that goes with an operation in flight.
const fn in_flight(phase: Phase) -> &'static str {
    match phase {
        Phase::Create => "Provisioning",
        Phase::Update => "Updating",
        Phase::Delete => "Terminating",
    }
}

impl Status {
    /// Publishes a class and a phase in the shared conditions; an empty message is the table's.
    pub(crate) fn publish_shared(
        &mut self,
        class: Class,
        phase: Option<Phase>,
        message: Option<&str>,
        now: Timestamp,
    ) {
        let projection = project(class, phase);
        let message =
            message.map(str::trim).filter(|text| !text.is_empty()).unwrap_or(projection.message.as_str());
        condition::make_current(&mut self.status.conditions, projection.condition, message, now);
        self.status.reason = Some(projection.condition.as_str().to_owned());
        self.status.message = Some(message.to_owned());
    }

    /// Publishes a situation in `Ready`, `Progressing` and `Stalled`.
    ///
    /// A `Ready` that the situation says nothing about keeps also the generation it spoke of, which is what lets
    /// `kubectl wait` see that a newer spec is not applied yet.
    pub(crate) fn publish(&mut self, situation: Situation, message: &str, generation: i64, now: Timestamp) {
        let view = view(situation);
        let ready = match (view.ready, self.condition(ConditionType::Ready)) {
            (None, Some(_)) => None,
            (None, None) => Some((ConditionStatus::Unknown, view.progressing.1)),
            (told, _) => told,
        };
        let statements = [
            (ConditionType::Ready, ready),
            (ConditionType::Progressing, Some(view.progressing)),
            (ConditionType::Stalled, Some(view.stalled)),
        ];
        for (kind, statement) in statements {
            if let Some((status, reason)) = statement {
                let message = if reason == AS_EXPECTED { "" } else { message };
                condition::set(
                    &mut self.conditions,
                    Condition {
                        kind,
                        status,
                        observed_generation: Some(generation),
                        last_transition_time: now,
                        reason: reason.to_owned(),
                        message: message.to_owned(),
                    },
                );
            }
        }
        self.observed_generation = Some(generation);
    }
}

#[cfg(test)]
mod tests;
