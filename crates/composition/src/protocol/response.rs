//! The response of a function: desired state, results, conditions and requirements.

use std::time::Duration;

use serde::Deserialize;

use super::{Object, Requirements, State};

/// The response to a [`RunRequest`](super::RunRequest).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResponse {
    pub meta: ResponseMeta,
    /// Replaces the accumulated desired state completely.
    pub desired: State,
    /// Messages for people, or the reason to stop.
    pub results: Vec<FunctionResult>,
    /// Handed to the next step; dropped after the last.
    pub context: Option<Object>,
    /// What the function needs to be called again with.
    pub requirements: Requirements,
    /// Status conditions for the XR and maybe the claim.
    pub conditions: Vec<FunctionCondition>,
    /// Output of operations; compositions ignore it.
    pub output: Option<Object>,
}

impl RunResponse {
    /// The first fatal result, if the pipeline has to stop here.
    pub fn fatal(&self) -> Option<&FunctionResult> {
        self.results.iter().find(|result| result.severity == Severity::Fatal)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseMeta {
    /// The tag of the request.
    pub tag: String,
    /// How long the response is valid; absent or zero is not an opinion, and so is a negative duration on the wire.
    pub ttl: Option<Duration>,
}

/// A message of a function, for readers of an XR and maybe of its claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionResult {
    pub severity: Severity,
    pub message: String,
    /// Machine-readable reason in PascalCase; `ComposeResources` when absent.
    pub reason: Option<String>,
    pub target: Target,
}

/// How serious a result is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Not given, or a number the protocol does not define.
    #[default]
    Unspecified,
    /// The pipeline stops; nothing is applied, nothing is deleted.
    Fatal,
    /// A Warning event; the pipeline goes on.
    Warning,
    /// A Normal event.
    Normal,
}

/// The audience of a result or condition: the operator of the composition, or the user of the claim as well.
///
/// There is no target for the claim alone. Absent, unspecified and undefined numbers mean the composite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub enum Target {
    /// The XR only.
    #[default]
    Composite,
    /// The XR and the claim it serves.
    CompositeAndClaim,
}

/// A status condition a function sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionCondition {
    /// The type, for instance `DatabaseReady`.
    pub kind: String,
    /// The status.
    pub status: ConditionStatus,
    /// Machine-readable reason in PascalCase; empty breaks the contract and is read as `Unspecified`.
    pub reason: String,
    pub message: Option<String>,
    pub target: Target,
}

/// The status of a condition, as Kubernetes writes it. Unspecified and undefined numbers mean unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    /// `Unknown`
    #[default]
    Unknown,
    /// `True`
    True,
    /// `False`
    False,
}

impl ConditionStatus {
    /// `True`, `False` or `Unknown`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "Unknown",
            Self::True => "True",
            Self::False => "False",
        }
    }

    /// Reads `True` and `False`; anything else is unknown.
    pub fn parse(text: &str) -> Self {
        match text {
            "True" => Self::True,
            "False" => Self::False,
            _ => Self::Unknown,
        }
    }
}
