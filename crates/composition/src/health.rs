//! `Healthy`: is anything broken? It names the cause to the operator of a composition, and not to the user of a claim.
//!
//! Not ready yet is not unhealthy. Crossplane has reserved the condition type since v1.17 and never set it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::condition::{Condition, Conditions, HEALTHY};
use crate::event::COMPOSE_RESOURCES;
use crate::naming::short_hash;
use crate::object;
use crate::pipeline::{Failure, Outcome};
use crate::protocol::{ConditionStatus, Object};
use crate::readiness::{Child, ChildState, some_of};
use crate::runner::RunErrorClass;

/// The annotation on a Composition (which wins) or XRD with the text a claim shows after an internal error.
pub const ANNOTATION_CLAIM_ERROR_MESSAGE: &str = "plimsoll.dev/claim-error-message";

/// Where a reconcile failed, which decides the reason of its event and how its error starts.
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

    const fn context(self) -> &'static str {
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

/// Why a reconcile failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconcileFailure {
    pub stage: Stage,
    /// The reason of `Healthy` on the XR.
    pub reason: FailureReason,
    /// The pipeline step, if it was one.
    pub step: Option<String>,
    /// A stable word for the kind of error; its text may change from one attempt to the next.
    pub class: String,
    pub message: String,
    /// The message of the `Synced` condition, where `message` is not stable enough for a status.
    pub stable_message: Option<String>,
}

/// The reason of `Healthy` on the XR after a failed reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureReason {
    /// An error of the engine.
    ReconcileError,
    /// A function returned a fatal result.
    FatalResult,
    /// A function is not installed.
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

impl ReconcileFailure {
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

    /// The error with its context: `cannot compose resources: …`.
    pub fn text(&self) -> String {
        format!("{}{}", self.stage.context(), self.message)
    }

    /// The error as a condition shows it.
    pub fn condition_text(&self) -> String {
        let message = self.stable_message.as_ref().unwrap_or(&self.message);
        format!("{}{message}", self.stage.context())
    }
}

/// What is wrong with an XR, if anything: the worst thing wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The reason on the XR: `ReconcileError`, `FatalResult`, `FunctionNotFound`, `ChildRefused`, `ChildUnhealthy`.
    pub reason: &'static str,
    /// The message on the XR, without the id.
    pub message: String,
    /// Eight digits that stay the same as long as the problem does, shown to operator and user alike.
    pub id: String,
    /// Whether the functions have reported it to the user of the claim themselves.
    pub reported: bool,
}

/// What is wrong after a reconcile, if anything.
pub fn diagnose(
    xr_uid: &str,
    outcome: &Outcome,
    failure: Option<&ReconcileFailure>,
    children: &[Child],
) -> Option<Problem> {
    // Functions cannot report that a child was refused after they ran.
    let reported = failure.is_some() && outcome.reported_to_claim();
    let problem = |reason, step: &str, class: &str, message| {
        let id = short_hash(&[xr_uid, step, class], 8);
        Problem { reason, message, id, reported }
    };
    if let Some(failure) = failure {
        let step = failure.step.as_deref().unwrap_or_default();
        let class = format!("{:?}/{}", failure.stage, failure.class);
        return Some(problem(failure.reason.as_str(), step, &class, failure.condition_text()));
    }
    let absent: Vec<String> = children
        .iter()
        .filter_map(|child| match &child.state {
            ChildState::Applied => None,
            ChildState::Refused(why) | ChildState::Missing(why) => Some(format!("{}: {why}", child.key)),
        })
        .collect();
    if !absent.is_empty() {
        return Some(problem(
            "ChildRefused",
            "",
            "ChildRefused",
            format!("Refused resources: {}", some_of(&absent)),
        ));
    }
    let unhealthy: Vec<String> = children
        .iter()
        .filter_map(|child| Some(format!("{} ({})", child.key, child.problem.as_ref()?)))
        .collect();
    (!unhealthy.is_empty()).then(|| {
        problem(
            "ChildUnhealthy",
            "",
            "ChildUnhealthy",
            format!("Unhealthy resources: {}", some_of(&unhealthy)),
        )
    })
}

/// The condition by which a child reports a problem: `Healthy=False`, `Synced=False` or `Stalled=True`.
pub fn problem(child: &Object) -> Option<String> {
    let signs = [(HEALTHY, "False"), (crate::condition::SYNCED, "False"), ("Stalled", "True")];
    let is_shown = |(kind, status): &&(&str, &str)| readiness::condition(child, kind, status).is_ok();
    signs.iter().find(is_shown).map(|(kind, status)| format!("{kind}={status}"))
}

/// `Healthy` on the XR.
pub fn condition(problem: Option<&Problem>, now: Timestamp) -> Condition {
    match problem {
        None => Condition::new(HEALTHY, ConditionStatus::True, "Healthy", now),
        Some(problem) => Condition::new(HEALTHY, ConditionStatus::False, problem.reason, now)
            .message(format!("{} (error id {})", problem.message, problem.id)),
    }
}

/// The content of `status.crossplane.failure`: what the claim may show without seeing the cause.
pub(crate) fn record(problem: &Problem) -> Value {
    json!({"id": problem.id, "reportedToClaim": problem.reported})
}

/// `Healthy` on the claim: the status of its XR, in words for its user. `None` while the XR does not have it.
///
/// `text` is the message the Composition or XRD wants after an internal error.
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
            "A function that this claim depends on is not installed. Ask the platform team to install it.",
        )
    } else {
        (
            "InternalError",
            "An internal error prevents this claim from being fulfilled. The claim itself is not the cause.",
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

/// The API server's 422 reduced to what stays the same on the next attempt: the fields and the reasons of its `causes`.
///
/// The full text may hold pointers and values in random order; in a status it would cause a write at every reconcile.
pub fn refusal<'c>(causes: impl IntoIterator<Item = (&'c str, &'c str)>) -> String {
    let pairs: BTreeSet<(&str, &str)> = causes.into_iter().collect();
    if pairs.is_empty() {
        return "the API server refuses it as invalid".to_owned();
    }
    let pairs: Vec<String> = pairs.into_iter().map(|(field, reason)| format!("{field}: {reason}")).collect();
    format!("the API server refuses {}", pairs.join(", "))
}

#[cfg(test)]
mod tests;
