//! What a recording consists of, as it is sent to the user.

use std::collections::BTreeMap;
use std::time::Duration;

use composition::object;
use composition::protocol::{FunctionCondition, FunctionResult, Resource, Severity, Target};
use manifest::ObjectRef;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::composition::requests::Named;

/// One pass over an XR.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Recording {
    /// When it began, in RFC 3339.
    pub began: String,
    pub milliseconds: f64,
    /// The name of the CompositionRevision in use.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// How long each part of the pass took.
    pub phases: Vec<Phase>,
    /// The XR as every function was given it.
    pub composite: Option<Piece>,
    /// The composed resources as every function was given them.
    pub observed: BTreeMap<String, Piece>,
    /// What the XR refers to and does not exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Named>,
    pub steps: Vec<StepRecord>,
    /// What was deleted and applied, or would have been but for an error.
    pub writes: Vec<Writing>,
    /// The conditions of the XR after the pass.
    pub conditions: Vec<Value>,
    /// What it has to say in Events. What was said before is not recorded again.
    pub events: Vec<Finding>,
    /// Why the pass failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// How many pieces were left out for their size, and how many bytes they had.
    #[serde(skip_serializing_if = "is_nothing")]
    pub trimmed: (usize, usize),
}

impl Recording {
    /// Every piece of it.
    pub(crate) fn pieces_mut(&mut self) -> Vec<&mut Piece> {
        let mut pieces: Vec<&mut Piece> = self.composite.iter_mut().collect();
        pieces.extend(self.observed.values_mut());
        for step in &mut self.steps {
            pieces.extend(&mut step.input);
            for call in &mut step.calls {
                pieces.extend(call.required.values_mut().flatten());
                pieces.extend(&mut call.context);
                if let Some(returned) = &mut call.returned {
                    pieces.extend(&mut returned.composite);
                    pieces.extend(returned.resources.values_mut());
                    pieces.extend(&mut returned.context);
                }
            }
        }
        pieces
    }

    /// Every text beside its pieces that a function, or an error about what it returned, may have put a value into.
    pub(super) fn texts_mut(&mut self) -> Vec<&mut String> {
        let mut texts: Vec<&mut String> = self.failure.iter_mut().collect();
        texts.extend(self.writes.iter_mut().filter_map(|writing| writing.error.as_mut()));
        texts.extend(self.events.iter_mut().flat_map(Finding::texts_mut));
        for step in &mut self.steps {
            texts.extend(&mut step.error);
            for call in &mut step.calls {
                texts.extend(&mut call.error);
                if let Some(returned) = &mut call.returned {
                    texts.extend(returned.results.iter_mut().flat_map(Finding::texts_mut));
                    for condition in &mut returned.conditions {
                        texts.extend([&mut condition.kind, &mut condition.reason]);
                        texts.extend(&mut condition.message);
                    }
                    texts.extend(&mut returned.requires);
                }
            }
        }
        texts
    }
}

fn is_nothing((pieces, _): &(usize, usize)) -> bool {
    *pieces == 0
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Phase {
    pub name: String,
    pub milliseconds: f64,
}

/// A value that was given or returned: an object, or part of a request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Piece {
    /// Which object it is, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Why the value is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<String>,
    /// How many bytes the value has, if it was too large to be recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimmed: Option<usize>,
    /// The names of its connection details.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connection_details: Vec<String>,
    /// The Secret that they come from.
    #[serde(skip)]
    pub(crate) connection_secret: Option<Named>,
    /// Whether the function considers it ready, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
}

impl Piece {
    /// Takes the value away, for this reason.
    pub(crate) fn hide(&mut self, why: &str) {
        if self.value.take().is_some() || self.trimmed.take().is_some() {
            self.hidden = Some(why.to_owned());
        }
    }
}

/// One step of the pipeline.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StepRecord {
    pub step: String,
    pub function: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Piece>,
    /// By the name under which the function gets them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub credentials: BTreeMap<String, Credential>,
    /// A function that requires more than it was given is called again.
    pub calls: Vec<Call>,
    /// Why it did not respond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Credential {
    pub secret: Named,
    /// The names of its entries. Their values are never recorded.
    pub entries: Vec<String>,
}

/// One call of a function. Besides what is here, it was given the observed state and what the step before desired.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Call {
    pub milliseconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Piece>,
    /// The objects that it required, by the name under which it gets them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub required: BTreeMap<String, Vec<Piece>>,
    /// The names of the schemas that it required.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schemas: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned: Option<Returned>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a function returned.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Returned {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub composite: Option<Piece>,
    pub resources: BTreeMap<String, Piece>,
    pub results: Vec<Finding>,
    pub conditions: Vec<Condition>,
    /// The objects and schemas that it requires, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// Which objects the first ones of `requires` are about. Without a name, all of the kind.
    #[serde(skip)]
    pub(crate) required: Vec<Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Piece>,
    /// How long the response is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<f64>,
}

/// A result of a function, or an Event.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// `Normal`, `Warning` or `Fatal`.
    pub severity: String,
    pub reason: String,
    pub message: String,
    /// Whether the user of the claim sees it.
    pub for_claim: bool,
}

impl Finding {
    fn texts_mut(&mut self) -> [&mut String; 2] {
        [&mut self.reason, &mut self.message]
    }

    pub(in crate::composition) fn of_result(result: &FunctionResult) -> Self {
        let severity = match result.severity {
            Severity::Fatal => "Fatal",
            Severity::Warning | Severity::Unspecified => "Warning",
            Severity::Normal => "Normal",
        };
        Self {
            severity: severity.to_owned(),
            reason: result.reason.clone().unwrap_or_default(),
            message: result.message.clone(),
            for_claim: result.target == Target::CompositeAndClaim,
        }
    }

    pub(in crate::composition) fn of_event(event: &composition::event::Event) -> Self {
        Self {
            severity: event.kind.as_str().to_owned(),
            reason: event.reason.clone(),
            message: event.message.clone(),
            for_claim: event.on == composition::event::Recipient::Claim,
        }
    }
}

/// A condition that a function set.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether the user of the claim sees it.
    pub for_claim: bool,
}

impl Condition {
    pub(super) fn of(condition: &FunctionCondition) -> Self {
        Self {
            kind: condition.kind.clone(),
            status: condition.status.as_str().to_owned(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            for_claim: condition.target == Target::CompositeAndClaim,
        }
    }
}

/// What became of a composed resource.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Writing {
    /// Its name in the composition.
    pub key: String,
    pub object: Named,
    pub outcome: WritingKind,
    pub milliseconds: f64,
    /// Why it was not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WritingKind {
    /// It was as desired already, so nothing was sent.
    Unchanged,
    Applied,
    Deleted,
    /// The API server rejected it.
    Refused,
}

impl Writing {
    pub(in crate::composition) fn new(
        key: &str,
        object: &ObjectRef,
        outcome: WritingKind,
        took: Duration,
        error: Option<String>,
    ) -> Self {
        Self { key: key.to_owned(), object: object.into(), outcome, milliseconds: milliseconds(took), error }
    }
}

pub(super) fn milliseconds(duration: Duration) -> f64 {
    // Microseconds are precise enough, and read better.
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// Which object a resource of a message is, as far as it says so: what functions desire has no name yet.
pub(super) fn named(resource: &Resource) -> Option<Named> {
    let text = |path: &[&str]| object::text(&resource.object, path).map(str::to_owned);
    Some(Named {
        api_version: text(&["apiVersion"])?,
        kind: text(&["kind"])?,
        namespace: text(&["metadata", "namespace"]),
        name: text(&["metadata", "name"]).unwrap_or_default(),
    })
}
