//! Events of a reconcile: for the XR and, where the author of the composition wants it, for the claim.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::health::ReconcileFailure;
use crate::object;
use crate::pipeline::{ContractViolation, Failure, Outcome, StepOutput};
use crate::protocol::{FunctionResult, Object, Severity, Target};

/// The reason of events whose function gives none, and of what goes wrong while composing.
pub const COMPOSE_RESOURCES: &str = "ComposeResources";

/// An event to be recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Event {
    /// The object it is recorded on.
    pub on: Recipient,
    pub kind: EventType,
    /// Machine-readable reason in PascalCase.
    pub reason: String,
    pub message: String,
}

/// The object an event is recorded on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Recipient {
    /// The XR.
    Composite,
    /// The claim.
    Claim,
}

/// The type of an event, as Kubernetes knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// `Normal`
    Normal,
    /// `Warning`
    Warning,
}

impl EventType {
    /// `Normal` or `Warning`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

impl Event {
    /// A Warning event on the XR.
    pub fn warning(reason: &str, message: impl Into<String>) -> Self {
        let (on, kind) = (Recipient::Composite, EventType::Warning);
        Self { on, kind, reason: reason.to_owned(), message: message.into() }
    }

    /// A Normal event on the XR.
    pub fn normal(reason: &str, message: impl Into<String>) -> Self {
        Self { kind: EventType::Normal, ..Self::warning(reason, message) }
    }

    fn for_claim(self) -> Self {
        Self { on: Recipient::Claim, ..self }
    }
}

/// The event on the XR for a failed reconcile, with the id the user of the claim quotes.
pub fn of_failure(failure: &ReconcileFailure, id: &str) -> Event {
    Event::warning(failure.stage.event_reason(), format!("{} (error id {id})", failure.text()))
}

/// The events for the results of functions, in the order they were returned.
///
/// On the XR, [`of_failure`] reports a fatal result. A fatal result that targets the claim reaches the claim in its
/// author's words; Crossplane never records it there.
pub fn of_results(outcome: &Outcome) -> Vec<Event> {
    let mut events: Vec<Event> = outcome.results.iter().flat_map(of_result).collect();
    if let Some(Failure::Fatal { result, .. }) = &outcome.failure
        && result.target == Target::CompositeAndClaim
    {
        events.push(Event::warning(reason(result), result.message.clone()).for_claim());
    }
    events
}

/// Warnings on the XR about output that breaks the function contract; the caller sends them once per revision.
pub fn of_violations(outcome: &Outcome) -> Vec<Event> {
    let warning = |violation: &StepOutput<ContractViolation>| {
        Event::warning("InvalidFunctionOutput", violation_message(violation))
    };
    outcome.violations.iter().map(warning).collect()
}

/// The events whose object is known: those for a claim that cannot be read are left out.
pub fn recordable(events: Vec<Event>, has_claim: bool) -> Vec<Event> {
    events.into_iter().filter(|event| has_claim || event.on == Recipient::Composite).collect()
}

/// How long the API server keeps an Event by default.
const EVENT_TTL: SignedDuration = SignedDuration::from_hours(1);

/// Whether Events about the current status of `object` have expired, since it has not changed for so long.
///
/// A process that has just started uses this to tell that finding no Event does not mean that none was recorded.
pub fn have_expired(object: &Object, now: Timestamp) -> bool {
    let time = |entry: &Value, key: &str| entry.get(key)?.as_str()?.parse::<Timestamp>().ok();
    let written = ownership::write_times(object, "status").filter_map(|time| time.parse().ok());
    let conditions = object::list(object, &["status", "conditions"]);
    let moved = conditions.filter_map(|entry| time(entry, "lastTransitionTime"));
    written.chain(moved).max().is_some_and(|last| now.duration_since(last) > EVENT_TTL)
}

fn of_result(returned: &StepOutput<FunctionResult>) -> Vec<Event> {
    let StepOutput { step, output: result } = returned;
    let kind = match result.severity {
        Severity::Normal => EventType::Normal,
        Severity::Warning => EventType::Warning,
        // A fatal result never gets here; if it did, it must not be overlooked.
        Severity::Unspecified | Severity::Fatal => {
            let text = format!(
                "Pipeline step {step:?} returned a result of unknown severity (assuming warning): {}",
                result.message
            );
            return vec![Event::warning(reason(result), text)];
        }
    };
    let plain = Event { kind, ..Event::warning(reason(result), result.message.clone()) };
    let prefixed = Event { message: format!("Pipeline step {step:?}: {}", result.message), ..plain.clone() };
    match result.target {
        Target::Composite => vec![prefixed],
        Target::CompositeAndClaim => vec![prefixed, plain.for_claim()],
    }
}

fn reason(result: &FunctionResult) -> &str {
    result.reason.as_deref().filter(|reason| !reason.is_empty()).unwrap_or(COMPOSE_RESOURCES)
}

fn violation_message(violation: &StepOutput<ContractViolation>) -> String {
    let step = &violation.step;
    match &violation.output {
        ContractViolation::ReservedConditionType(kind) => format!(
            "Pipeline step {step:?} set the condition {kind:?}, which only the engine sets: dropped. \
             Use another type, such as {:?}",
            format!("App{kind}")
        ),
        ContractViolation::EmptyConditionType => {
            format!("Pipeline step {step:?} set a condition without a type: dropped")
        }
        ContractViolation::EmptyConditionReason(kind) => format!(
            "Pipeline step {step:?} set the condition {kind:?} without a reason: it reads \"Unspecified\""
        ),
        ContractViolation::UnknownSeverity => format!(
            "Pipeline step {step:?} returned a result of unknown severity: it counts as a warning for the XR only"
        ),
        ContractViolation::ClaimTarget => format!(
            "Pipeline step {step:?} addressed a claim, but only XRs of scope LegacyCluster have one: \
             only the XR shows it"
        ),
        ContractViolation::ForeignTag => format!(
            "Pipeline step {step:?} answered with the tag of another request: the response was accepted, \
             but its function should copy the tag"
        ),
    }
}

#[cfg(test)]
mod tests;
