//! Folds the responses of a pipeline's steps into one outcome: desired state, results, conditions, and what went wrong.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::composition::Step;
use crate::protocol::{
    Capability, FunctionCondition, FunctionResult, Object, RequestMeta, RunRequest, RunResponse, SecretData,
    Severity, State, Target,
};
use crate::runner::RunError;

/// The outcome of a whole pipeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The steps that responded, in order.
    pub answered: Vec<String>,
    /// The desired state of the last step that responded. Nothing of it may be applied after a failure.
    pub desired: State,
    /// The shortest TTL of any response.
    pub ttl: Option<Duration>,
    /// The results of all steps in order, without a fatal one.
    pub results: Vec<StepOutput<FunctionResult>>,
    /// The conditions of all steps in order, up to and including a failing step: the last of a type wins.
    pub conditions: Vec<StepOutput<FunctionCondition>>,
    /// Output that breaks the function contract.
    pub violations: Vec<StepOutput<ContractViolation>>,
    /// Why the pipeline stopped early.
    pub failure: Option<Failure>,
}

/// A piece of output together with the step that returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOutput<T> {
    pub step: String,
    pub output: T,
}

impl<T> StepOutput<T> {
    fn by(step: &str, output: T) -> Self {
        Self { step: step.to_owned(), output }
    }
}

/// Output of a function that breaks its contract, and how it is handled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContractViolation {
    /// The condition type belongs to the engine: dropped.
    ReservedConditionType(String),
    /// The condition has no type: dropped.
    EmptyConditionType,
    /// The condition has no reason: it reads `Unspecified`.
    EmptyConditionReason(String),
    /// The result has a severity the protocol does not define: it counts as a warning.
    UnknownSeverity,
    /// It is meant for the claim of an XR that cannot have one: only the XR shows it.
    ClaimTarget,
    /// The tag of the response is that of another request: accepted all the same, as Crossplane does.
    ForeignTag,
}

/// Why a pipeline stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A function returned a fatal result.
    #[error("pipeline step {step:?} returned a fatal result: {}", result.message)]
    Fatal { step: String, result: FunctionResult },
    /// A function did not respond.
    #[error("cannot run Composition pipeline step {step:?}: cannot run Function {function:?}: {error}")]
    Run { step: String, function: String, error: RunError },
}

impl Failure {
    /// The step at which the pipeline stopped.
    pub fn step(&self) -> &str {
        match self {
            Self::Fatal { step, .. } | Self::Run { step, .. } => step,
        }
    }
}

/// A pipeline while it runs: build the request of the next step, then take in its response.
#[derive(Clone, Debug)]
pub struct Pipeline {
    outcome: Outcome,
    context: Option<Object>,
    audience: Audience,
}

/// Who can be addressed by what the functions return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// The XR and a claim, if it has one: legacy scope.
    CompositeAndClaim,
    /// The XR alone: modern scopes know no claims.
    CompositeOnly,
}

impl Pipeline {
    /// A pipeline before its first step: nothing desired, an empty context.
    pub fn new(audience: Audience) -> Self {
        Self { outcome: Outcome::default(), context: Some(Object::new()), audience }
    }

    /// The pipeline with a context for its first step.
    #[must_use]
    pub fn with_context(self, context: Object) -> Self {
        Self { context: Some(context), ..self }
    }

    /// The context the next step would be given.
    pub fn context(&self) -> Option<&Object> {
        self.context.as_ref()
    }

    /// The request of the next step, without its requirements and tag.
    pub fn request(
        &self,
        step: &Step,
        observed: &Arc<State>,
        credentials: BTreeMap<String, SecretData>,
    ) -> RunRequest {
        RunRequest {
            meta: RequestMeta { tag: String::new(), capabilities: Capability::ALL.to_vec() },
            observed: Arc::clone(observed),
            desired: self.outcome.desired.clone(),
            input: step.input.clone(),
            context: self.context.clone(),
            credentials,
            ..RunRequest::default()
        }
    }

    /// Whether there is a next step to run.
    pub fn goes_on(&self) -> bool {
        self.outcome.failure.is_none()
    }

    /// Takes in the response of a step to a request tagged `tag`. After a failure it does nothing.
    pub fn answered(&mut self, step: &str, tag: &str, answer: RunResponse) {
        if !self.goes_on() {
            return;
        }
        let outcome = &mut self.outcome;
        outcome.answered.push(step.to_owned());
        outcome.desired = answer.desired;
        self.context = answer.context;
        if let Some(ttl) = answer.meta.ttl.filter(|ttl| !ttl.is_zero()) {
            outcome.ttl = Some(outcome.ttl.map_or(ttl, |shortest| shortest.min(ttl)));
        }
        if !answer.meta.tag.is_empty() && !tag.is_empty() && answer.meta.tag != tag {
            outcome.violations.push(StepOutput::by(step, ContractViolation::ForeignTag));
        }
        for condition in answer.conditions {
            self.take_condition(step, condition);
        }
        for result in answer.results {
            if result.severity == Severity::Fatal {
                let target = self.reachable(step, result.target);
                let result = FunctionResult { target, ..result };
                self.outcome.failure = Some(Failure::Fatal { step: step.to_owned(), result });
                return;
            }
            self.take_result(step, result);
        }
    }

    /// Takes in that a step's function did not respond. The output of earlier steps stays.
    pub fn failed(&mut self, step: &str, function: &str, error: RunError) {
        if self.goes_on() {
            let failure = Failure::Run { step: step.to_owned(), function: function.to_owned(), error };
            self.outcome.failure = Some(failure);
        }
    }

    pub fn finish(self) -> Outcome {
        self.outcome
    }

    fn take_condition(&mut self, step: &str, mut condition: FunctionCondition) {
        if condition.kind.is_empty() {
            self.note(step, ContractViolation::EmptyConditionType);
            return;
        }
        if crate::condition::is_system(&condition.kind) {
            self.note(step, ContractViolation::ReservedConditionType(condition.kind));
            return;
        }
        if condition.reason.is_empty() {
            self.note(step, ContractViolation::EmptyConditionReason(condition.kind.clone()));
            "Unspecified".clone_into(&mut condition.reason);
        }
        condition.target = self.reachable(step, condition.target);
        self.outcome.conditions.push(StepOutput::by(step, condition));
    }

    fn take_result(&mut self, step: &str, mut result: FunctionResult) {
        if result.severity == Severity::Unspecified {
            self.note(step, ContractViolation::UnknownSeverity);
            // It is unexpected, which does not concern the user of the claim.
            result.target = Target::Composite;
        }
        result.target = self.reachable(step, result.target);
        self.outcome.results.push(StepOutput::by(step, result));
    }

    fn reachable(&mut self, step: &str, target: Target) -> Target {
        if target == Target::CompositeAndClaim && self.audience == Audience::CompositeOnly {
            self.note(step, ContractViolation::ClaimTarget);
            return Target::Composite;
        }
        target
    }

    fn note(&mut self, step: &str, violation: ContractViolation) {
        let violation = StepOutput::by(step, violation);
        if !self.outcome.violations.contains(&violation) {
            self.outcome.violations.push(violation);
        }
    }
}

impl Outcome {
    /// Whether the functions themselves reported something to the user of the claim.
    pub fn reported_to_claim(&self) -> bool {
        let fatal = match &self.failure {
            Some(Failure::Fatal { result, .. }) => result.target == Target::CompositeAndClaim,
            _ => false,
        };
        let claim = Target::CompositeAndClaim;
        fatal
            || self.conditions.iter().any(|it| it.output.target == claim)
            || self.results.iter().any(|it| it.output.target == claim)
    }
}

#[cfg(test)]
pub(crate) mod tests;
