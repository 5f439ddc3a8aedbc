//! `Healthy`: is anything broken? For the operator of a composition with the cause, for the user of a claim without.
//!
//! Not ready yet is not unhealthy. The condition type has been reserved in the reference since v1.17 and never set.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::condition::{Condition, Conditions, HEALTHY};
use crate::event::COMPOSE_RESOURCES;
use crate::naming::short_hash;
use crate::object;
use crate::pipeline::{Failure, Outcome};
use crate::readiness::{Child, ChildState, some_of};
use crate::run::{ConditionStatus, Object};
use crate::runner::RunErrorClass;

/// The annotation on a Composition (which wins) or XRD with the text a claim shows after an internal error.
pub const ANNOTATION_CLAIM_ERROR_MESSAGE: &str = "plimsoll.dev/claim-error-message";

/// Where a pass stopped, which decides the reason of its event and how its error reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Adding the finalizer.
    Initialize,
    /// Removing the finalizer.
    Delete,
    /// Choosing a Composition.
    SelectComposition,
    /// Choosing a revision selector.
    SelectRevision,
    /// Reading the revision.
    FetchRevision,
    /// The revision's pipeline is not valid.
    ValidatePipeline,
    /// Labels and connection secret of the XR.
    Configure,
    /// Everything from observing to applying.
    Compose,
    /// Watching what is composed and required.
    Watch,
    /// Writing the connection secret.
    Publish,
}

impl Stage {
    /// The reason of the Warning event.
    pub const fn event_reason(self) -> &'static str {
        match self {
            Self::Initialize => "InitializeCompositeResource",
            Self::Delete => "DeleteCompositeResource",
            Self::SelectComposition | Self::SelectRevision => "SelectComposition",
            Self::FetchRevision | Self::ValidatePipeline | Self::Configure | Self::Compose => {
                COMPOSE_RESOURCES
            }
            Self::Watch => "WatchComposedResources",
            Self::Publish => "PublishConnectionSecret",
        }
    }

    const fn what(self) -> &'static str {
        match self {
            Self::Initialize => "cannot add composite resource finalizer: ",
            Self::Delete => "cannot remove composite resource finalizer: ",
            Self::SelectComposition => "cannot select Composition: ",
            Self::SelectRevision => "cannot select CompositionRevision: ",
            Self::FetchRevision => "cannot fetch Composition: ",
            Self::ValidatePipeline => "",
            Self::Configure => "cannot configure composite resource: ",
            Self::Compose => "cannot compose resources: ",
            Self::Watch => "cannot watch resource for changes: ",
            Self::Publish => "cannot publish connection details: ",
        }
    }
}

/// Why a pass failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassFailure {
    /// Where.
    pub stage: Stage,
    /// The reason of `Healthy` on the XR.
    pub reason: FailureReason,
    /// The pipeline step, if it was one.
    pub step: Option<String>,
    /// A stable word for the kind of error: not its text, which may change from try to try.
    pub class: String,
    /// What happened.
    pub message: String,
    /// What the `Synced` condition says instead, where the text is not stable enough to stand in a status.
    pub stable_message: Option<String>,
}

/// The reason `Healthy` gives on the XR for a failed pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureReason {
    /// The engine could not do its work.
    ReconcileError,
    /// A function said that nothing may happen.
    FatalResult,
    /// A function nobody knows.
    FunctionNotFound,
}

impl FailureReason {
    const fn as_str(self) -> &'static str {
        match self {
            Self::ReconcileError => "ReconcileError",
            Self::FatalResult => "FatalResult",
            Self::FunctionNotFound => "FunctionNotFound",
        }
    }
}

impl PassFailure {
    /// An error of the engine at `stage`, of `class`.
    pub fn engine(stage: Stage, class: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            stage,
            reason: FailureReason::ReconcileError,
            step: None,
            class: class.into(),
            message: message.into(),
            stable_message: None,
        }
    }

    /// The failure of a pipeline.
    pub fn of(failure: &Failure) -> Self {
        let (reason, class) = match failure {
            Failure::Fatal { .. } => (FailureReason::FatalResult, "FatalResult"),
            Failure::Run { error, .. } if error.class == RunErrorClass::FunctionNotFound => {
                (FailureReason::FunctionNotFound, error.class.name())
            }
            Failure::Run { error, .. } => (FailureReason::ReconcileError, error.class.name()),
        };
        let step = Some(failure.step().to_owned());
        Self { reason, step, ..Self::engine(Stage::Compose, class, failure.to_string()) }
    }

    /// The error with what was tried: `cannot compose resources: …`.
    pub fn text(&self) -> String {
        format!("{}{}", self.stage.what(), self.message)
    }

    /// The error as far as it may stand in a condition.
    pub fn condition_text(&self) -> String {
        let message = self.stable_message.as_ref().unwrap_or(&self.message);
        format!("{}{message}", self.stage.what())
    }
}

/// What is wrong with an XR, if anything: the worst thing wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The reason on the XR: `ReconcileError`, `FatalResult`, `FunctionNotFound`, `ChildRefused`, `ChildUnhealthy`.
    pub reason: &'static str,
    /// What the XR says, without the id.
    pub message: String,
    /// Eight digits that stay the same while the trouble does, shown to operator and user alike.
    pub id: String,
    /// Whether the composition has itself told the user of the claim.
    pub reported: bool,
}

/// What is wrong after a pass, if anything.
pub fn diagnose(
    xr_uid: &str,
    outcome: &Outcome,
    failure: Option<&PassFailure>,
    children: &[Child],
) -> Option<Trouble> {
    // A pass that came to its end has said what its functions knew, not that a child was refused afterwards.
    let reported = failure.is_some() && outcome.spoke_to_claim();
    let trouble = |reason, step: &str, class: &str, message| {
        let id = short_hash(&[xr_uid, step, class], 8);
        Trouble { reason, message, id, reported }
    };
    if let Some(failure) = failure {
        let step = failure.step.as_deref().unwrap_or_default();
        let class = format!("{:?}/{}", failure.stage, failure.class);
        return Some(trouble(failure.reason.as_str(), step, &class, failure.condition_text()));
    }
    let absent: Vec<String> = children
        .iter()
        .filter_map(|child| match &child.state {
            ChildState::Applied => None,
            ChildState::Refused(why) | ChildState::Missing(why) => Some(format!("{}: {why}", child.key)),
        })
        .collect();
    if !absent.is_empty() {
        return Some(trouble(
            "ChildRefused",
            "",
            "ChildRefused",
            format!("Refused resources: {}", some_of(&absent)),
        ));
    }
    let unhealthy: Vec<String> = children
        .iter()
        .filter_map(|child| Some(format!("{} ({})", child.key, child.trouble.as_ref()?)))
        .collect();
    (!unhealthy.is_empty()).then(|| {
        trouble(
            "ChildUnhealthy",
            "",
            "ChildUnhealthy",
            format!("Unhealthy resources: {}", some_of(&unhealthy)),
        )
    })
}

/// What a child says about itself that means trouble: `Healthy=False`, `Synced=False` or `Stalled=True`.
pub fn trouble(child: &Object) -> Option<String> {
    let conditions = Conditions::of(child);
    let signs = [
        (HEALTHY, ConditionStatus::False),
        (crate::condition::SYNCED, ConditionStatus::False),
        ("Stalled", ConditionStatus::True),
    ];
    let shows = |(kind, status): &(&str, ConditionStatus)| {
        conditions.get(kind).is_some_and(|condition| condition.status == *status)
    };
    signs.iter().find(|sign| shows(sign)).map(|(kind, status)| format!("{kind}={}", status.as_str()))
}

/// `Healthy` on the XR.
pub fn condition(trouble: Option<&Trouble>, now: Timestamp) -> Condition {
    match trouble {
        None => Condition::new(HEALTHY, ConditionStatus::True, "Healthy", now),
        Some(trouble) => Condition::new(HEALTHY, ConditionStatus::False, trouble.reason, now)
            .message(format!("{} (error id {})", trouble.message, trouble.id)),
    }
}

/// What is kept in `status.crossplane.failure`, so that the claim can be told without seeing the cause.
pub(crate) fn record(trouble: &Trouble) -> Value {
    json!({"id": trouble.id, "reportedToClaim": trouble.reported})
}

/// `Healthy` on the claim: the status of its XR, in words for its user. `None` while the XR has not said.
///
/// `text` is what the Composition or XRD asks to be said after an internal error.
pub fn claim_condition(xr: &Object, text: Option<&str>, now: Timestamp) -> Option<Condition> {
    let conditions = Conditions::of(xr);
    let healthy = conditions.get(HEALTHY)?;
    if healthy.status != ConditionStatus::False {
        return Some(Condition::new(HEALTHY, healthy.status, &healthy.reason, now));
    }
    let failure = |key| object::nested(xr, &["status", "crossplane", "failure", key]);
    let id = failure("id").and_then(Value::as_str).unwrap_or("unknown");
    let name = object::name(xr).unwrap_or_default();
    let contact = format!("For help, quote composite resource {name:?} and error id {id}.");
    let unhealthy = |reason: &str, text: &str| {
        Condition::new(HEALTHY, ConditionStatus::False, reason, now).message(format!("{text} {contact}"))
    };
    if failure("reportedToClaim").and_then(Value::as_bool) == Some(true) {
        let text = "The conditions and events of this claim say what is wrong.";
        return Some(unhealthy("ReportedByComposition", text));
    }
    let not_found = FailureReason::FunctionNotFound.as_str();
    let (reason, default) = if healthy.reason == not_found {
        (
            not_found,
            "A function this claim depends on is not installed, which the platform team has to change.",
        )
    } else {
        (
            "InternalError",
            "An internal error keeps this claim from being fulfilled. Its cause is not in the claim.",
        )
    };
    Some(unhealthy(reason, text.unwrap_or(default)))
}

/// The text a claim shows after an internal error: the Composition's annotation, else the XRD's.
pub fn claim_error_text<'a>(
    composition: Option<&'a Object>,
    definition: Option<&'a Object>,
) -> Option<&'a str> {
    let text = |object: Option<&'a Object>| object::annotation(object?, ANNOTATION_CLAIM_ERROR_MESSAGE);
    text(composition).or_else(|| text(definition))
}

/// What an API server's 422 says, reduced to what stays the same when it is asked again.
///
/// The full text may hold pointers and values in random order; in a status it would cause a write at every pass.
pub fn refusal(status: &Value) -> String {
    let causes = status.pointer("/details/causes").and_then(Value::as_array);
    let text = |cause: &Value, key| cause.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut pairs: Vec<(String, String)> =
        causes.into_iter().flatten().map(|cause| (text(cause, "field"), text(cause, "reason"))).collect();
    pairs.sort();
    pairs.dedup();
    if pairs.is_empty() {
        return "the API server refuses it as invalid".to_owned();
    }
    let pairs: Vec<String> = pairs.into_iter().map(|(field, reason)| format!("{field}: {reason}")).collect();
    format!("the API server refuses {}", pairs.join(", "))
}

#[cfg(test)]
mod tests;
