//! Folding the answers of a pipeline's steps into one outcome: what is desired, what is said, and what went wrong.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::composition::Step;
use crate::run::{
    Capability, FunctionCondition, FunctionResult, Object, RequestMeta, RunRequest, RunResponse, SecretData,
    Severity, State, Target,
};
use crate::runner::RunError;

/// What a whole pipeline came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The steps that answered, in order.
    pub answered: Vec<String>,
    /// What the last step that answered desires. Nothing of it may be applied after a failure.
    pub desired: State,
    /// The shortest time any step says its answer holds.
    pub ttl: Option<Duration>,
    /// Everything said, in order, up to and without a fatal result.
    pub results: Vec<Said<FunctionResult>>,
    /// Conditions of all steps, up to and including a failing one, in order: the last of a type wins.
    pub conditions: Vec<Said<FunctionCondition>>,
    /// What could not be taken as it was returned.
    pub breaches: Vec<Said<Breach>>,
    /// Why the pipeline stopped early.
    pub failure: Option<Failure>,
}

/// Something together with the step that said it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said<T> {
    /// The step's name.
    pub step: String,
    /// What it said.
    pub what: T,
}

impl<T> Said<T> {
    fn by(step: &str, what: T) -> Self {
        Self { step: step.to_owned(), what }
    }
}

/// Something a function returned that breaks its contract, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Breach {
    /// The condition type belongs to the engine: dropped.
    ReservedConditionType(String),
    /// The condition has no type: dropped.
    EmptyConditionType,
    /// The condition has no reason: it reads `Unspecified`.
    EmptyConditionReason(String),
    /// The result has a severity the protocol does not define: it counts as a warning.
    UnknownSeverity,
    /// Something for the claim of an XR that cannot have one: only the XR shows it.
    ClaimTarget,
    /// The answer belongs to another request by its tag: taken all the same, as the reference does.
    ForeignTag,
}

/// Why a pipeline stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A function said that nothing may happen.
    #[error("pipeline step {step:?} returned a fatal result: {}", result.message)]
    Fatal {
        /// The step that said so.
        step: String,
        /// What it said, with the reason and audience it chose.
        result: FunctionResult,
    },
    /// A function gave no answer.
    #[error("cannot run Composition pipeline step {step:?}: cannot run Function {function:?}: {error}")]
    Run {
        /// The step that was to run.
        step: String,
        /// The function it names.
        function: String,
        /// What happened.
        error: RunError,
    },
}

impl Failure {
    /// The step at which the pipeline stopped.
    pub fn step(&self) -> &str {
        match self {
            Self::Fatal { step, .. } | Self::Run { step, .. } => step,
        }
    }
}

/// A pipeline while it runs: ask it what the next step is given, then tell it what came back.
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

    /// What the next step is asked, but for what it requires and its tag.
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

    /// Takes in the answer of a step to a request tagged `tag`. After a failure nothing more is taken in.
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
            outcome.breaches.push(Said::by(step, Breach::ForeignTag));
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

    /// Takes in that a step's function gave no answer. What earlier steps said stays.
    pub fn failed(&mut self, step: &str, function: &str, error: RunError) {
        if self.goes_on() {
            let failure = Failure::Run { step: step.to_owned(), function: function.to_owned(), error };
            self.outcome.failure = Some(failure);
        }
    }

    /// What it came to.
    pub fn finish(self) -> Outcome {
        self.outcome
    }

    fn take_condition(&mut self, step: &str, mut condition: FunctionCondition) {
        if condition.kind.is_empty() {
            self.note(step, Breach::EmptyConditionType);
            return;
        }
        if crate::condition::is_system(&condition.kind) {
            self.note(step, Breach::ReservedConditionType(condition.kind));
            return;
        }
        if condition.reason.is_empty() {
            self.note(step, Breach::EmptyConditionReason(condition.kind.clone()));
            "Unspecified".clone_into(&mut condition.reason);
        }
        condition.target = self.reachable(step, condition.target);
        self.outcome.conditions.push(Said::by(step, condition));
    }

    fn take_result(&mut self, step: &str, mut result: FunctionResult) {
        if result.severity == Severity::Unspecified {
            self.note(step, Breach::UnknownSeverity);
            // It tells of something unforeseen, which is no business of the claim's user.
            result.target = Target::Composite;
        }
        result.target = self.reachable(step, result.target);
        self.outcome.results.push(Said::by(step, result));
    }

    fn reachable(&mut self, step: &str, target: Target) -> Target {
        if target == Target::CompositeAndClaim && self.audience == Audience::CompositeOnly {
            self.note(step, Breach::ClaimTarget);
            return Target::Composite;
        }
        target
    }

    fn note(&mut self, step: &str, breach: Breach) {
        let breach = Said::by(step, breach);
        if !self.outcome.breaches.contains(&breach) {
            self.outcome.breaches.push(breach);
        }
    }
}

impl Outcome {
    /// Whether the failing pass has itself told the user of the claim what is wrong.
    pub fn spoke_to_claim(&self) -> bool {
        let fatal = match &self.failure {
            Some(Failure::Fatal { result, .. }) => result.target == Target::CompositeAndClaim,
            _ => false,
        };
        let claim = Target::CompositeAndClaim;
        fatal
            || self.conditions.iter().any(|said| said.what.target == claim)
            || self.results.iter().any(|said| said.what.target == claim)
    }
}

#[cfg(test)]
pub(crate) mod tests;
