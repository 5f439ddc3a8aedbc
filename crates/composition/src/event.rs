//! What people read about a pass: events for the XR and, where the author of the composition wants it, for the claim.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::health::PassFailure;
use crate::object;
use crate::pipeline::{Breach, Failure, Outcome, Said};
use crate::run::{FunctionResult, Object, Severity, Target};

/// The reason of events whose function gives none, and of what goes wrong while composing.
pub const COMPOSE_RESOURCES: &str = "ComposeResources";

/// An event to be recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Event {
    /// The object it is recorded on.
    pub on: Recipient,
    /// Whether something is wrong.
    pub kind: EventType,
    /// Machine-readable reason in PascalCase.
    pub reason: String,
    /// What to say.
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

/// The event on the XR for a pass that failed, with the id under which the claim's user reports it.
pub fn of_failure(failure: &PassFailure, id: &str) -> Event {
    Event::warning(failure.stage.event_reason(), format!("{} (error id {id})", failure.text()))
}

/// The events for what the functions said, in the order in which they said it.
///
/// A fatal result is no function event on the XR, where [`of_failure`] tells of it; but when its author meant the claim
/// to know, it reaches the claim in the author's words (the shipped reference lost this on the way from the draft).
pub fn of_results(outcome: &Outcome) -> Vec<Event> {
    let mut events: Vec<Event> = outcome.results.iter().flat_map(of_result).collect();
    if let Some(Failure::Fatal { result, .. }) = &outcome.failure
        && result.target == Target::CompositeAndClaim
    {
        events.push(Event::warning(reason(result), result.message.clone()).for_claim());
    }
    events
}

/// Warnings on the XR about what could not be taken as it was returned; the caller sends them once per revision.
pub fn of_breaches(outcome: &Outcome) -> Vec<Event> {
    let warning = |said: &Said<Breach>| Event::warning("InvalidFunctionOutput", breach_message(said));
    outcome.breaches.iter().map(warning).collect()
}

/// The events that have somebody to be recorded on: those for a claim that cannot be read are left out.
pub fn recordable(events: Vec<Event>, has_claim: bool) -> Vec<Event> {
    events.into_iter().filter(|event| has_claim || event.on == Recipient::Composite).collect()
}

/// The events of a pass that the pass before did not have, in order and each once.
///
/// Events are for changes: a function that says the same at every pass is heard once, and what it says now is kept in
/// the XR's status for whoever comes later.
pub fn changed(before: &BTreeSet<Event>, now: &[Event]) -> Vec<Event> {
    let mut sent = BTreeSet::new();
    now.iter().filter(|event| !before.contains(*event) && sent.insert(*event)).cloned().collect()
}

/// As long as the API server keeps an Event, unless it is told otherwise.
const KEPT: SignedDuration = SignedDuration::from_hours(1);

/// Whether Events about what `object` shows now have expired, or would have: its status has been as it is for so long.
///
/// It tells an engine that has just begun, and knows of no Events, from one that told nobody.
pub fn have_expired(object: &Object, now: Timestamp) -> bool {
    let time = |entry: &Value, key: &str| entry.get(key)?.as_str()?.parse::<Timestamp>().ok();
    let written = object::list(object, &["metadata", "managedFields"])
        .filter(|entry| entry.get("subresource").is_some_and(|part| part == "status"))
        .filter_map(|entry| time(entry, "time"));
    let conditions = object::list(object, &["status", "conditions"]);
    let moved = conditions.filter_map(|entry| time(entry, "lastTransitionTime"));
    written.chain(moved).max().is_some_and(|last| now.duration_since(last) > KEPT)
}

fn of_result(said: &Said<FunctionResult>) -> Vec<Event> {
    let Said { step, what: result } = said;
    let kind = match result.severity {
        Severity::Normal => EventType::Normal,
        Severity::Warning => EventType::Warning,
        // A fatal result never gets here; were it to, nobody should miss it.
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

fn breach_message(said: &Said<Breach>) -> String {
    let step = &said.step;
    match &said.what {
        Breach::ReservedConditionType(kind) => format!(
            "Pipeline step {step:?} set the condition {kind:?}, which only the engine sets: dropped. \
             Use another type, such as {:?}",
            format!("App{kind}")
        ),
        Breach::EmptyConditionType => {
            format!("Pipeline step {step:?} set a condition without a type: dropped")
        }
        Breach::EmptyConditionReason(kind) => format!(
            "Pipeline step {step:?} set the condition {kind:?} without a reason: it reads \"Unspecified\""
        ),
        Breach::UnknownSeverity => format!(
            "Pipeline step {step:?} returned a result of unknown severity: it counts as a warning for the XR only"
        ),
        Breach::ClaimTarget => format!(
            "Pipeline step {step:?} addressed a claim, but only XRs of scope LegacyCluster have one: \
             only the XR shows it"
        ),
        Breach::ForeignTag => format!(
            "Pipeline step {step:?} answered with the tag of another request: the answer was taken, \
             but its function should copy the tag"
        ),
    }
}

#[cfg(test)]
mod tests;
