//! Runs the pipeline of a revision for an XR: each step with its credentials and required resources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use composition::composite::Layout;
use composition::composition::{Composition, CredentialsSource, Step};
use composition::connection;
use composition::health::{ReconcileFailure, Stage};
use composition::pipeline::{Audience, Outcome, Pipeline};
use composition::protocol::{Requirements, RunRequest, SecretData, State};
use composition::requeue::ContentHash;
use composition::{RunErrorClass, pipeline::Failure};
use functions::{Reservation, Resolver as _};

use super::Composer;
use super::actor::Actor;
use super::required::StoreResolver;
use crate::composition::watches::{Scope, Watched};
use crate::runtime::controller::goes_first;

/// Stands in for the tag of our requests: `functions` sends the real one, and puts this into a response that carries it.
const TAG: &str = "pass";

/// The result of a pipeline.
pub(super) struct PipelineRun {
    pub(super) outcome: Outcome,
    /// What failed, in a function or in the engine.
    pub(super) failure: Option<ReconcileFailure>,
    /// What each step required.
    pub(super) required: BTreeMap<String, Requirements>,
    /// The scopes of that, including those that matched nothing.
    pub(super) scopes: BTreeSet<Scope>,
    /// The objects of these scopes that functions were given, in the order of the scopes.
    pub(super) given: Vec<ContentHash>,
    /// The function that could not be reached.
    pub(super) unreachable: Option<String>,
    /// The memory that `outcome` takes.
    pub(super) reservation: Reservation,
    /// The stores of `scopes`, to be kept until the XR depends on them.
    pub(super) stores: Vec<Arc<Watched>>,
}

impl Composer {
    /// Runs the steps until one fails. `before` is what each step required last time.
    pub(super) async fn run_pipeline(
        &self,
        revision: &Composition,
        observed: &Arc<State>,
        before: &BTreeMap<String, Requirements>,
        actor: &Actor,
    ) -> PipelineRun {
        let audience = match self.layout {
            Layout::Legacy => Audience::CompositeAndClaim,
            Layout::Modern => Audience::CompositeOnly,
        };
        let mut pipeline = Pipeline::new(audience);
        let resolver = StoreResolver::new(&self.engine, actor, revision);
        let runner = self.engine.functions.runner(&resolver).going_first(goes_first());
        let mut required = BTreeMap::new();
        let mut failure = None;
        let mut unreachable = None;
        for step in &revision.spec.pipeline {
            let request = match self.request(&pipeline, step, observed).await {
                Ok(request) => request,
                Err(error) => {
                    failure = Some(ReconcileFailure { step: Some(step.step.clone()), ..error });
                    break;
                }
            };
            let given = match given(step, &resolver, before.get(&step.step)).await {
                Ok(given) => given,
                Err(error) => {
                    failure = Some(ReconcileFailure { step: Some(step.step.clone()), ..error });
                    break;
                }
            };
            let function = &step.function_ref.name;
            let counts = &self.engine.counts;
            counts.function_waiting(function, self.engine.functions.waiting(function));
            let answer = runner.run_given(function, &request, &given).await;
            counts.function_waiting(function, self.engine.functions.waiting(function));
            let outcome = answer.as_ref().map_or_else(|error| error.class.name(), |_| "ok");
            counts.function_call(function, outcome, runner.take_called());
            match answer {
                Ok(answer) => {
                    required.insert(step.step.clone(), answer.requirements.clone());
                    pipeline.answered(&step.step, TAG, answer);
                }
                Err(error) => {
                    if error.class == RunErrorClass::Unavailable {
                        unreachable = Some(function.clone());
                    }
                    pipeline.failed(&step.step, function, error);
                }
            }
            if !pipeline.goes_on() {
                break;
            }
        }
        let outcome = pipeline.finish();
        let failure = failure.or_else(|| outcome.failure.as_ref().map(ReconcileFailure::of));
        if matches!(outcome.failure, Some(Failure::Run { .. })) {
            // A step that did not run requires what it required before.
            for (step, requirements) in before {
                required.entry(step.clone()).or_insert_with(|| requirements.clone());
            }
        }
        let reservation = runner.into_reservation();
        let (scopes, opened) = resolver.into_opened().into_iter().unzip::<_, _, BTreeSet<_>, Vec<_>>();
        let (stores, given) = opened.into_iter().unzip::<_, Vec<_>, Vec<_>, Vec<_>>();
        let given = given.into_iter().flatten().collect();
        PipelineRun { outcome, failure, required, scopes, given, unreachable, reservation, stores }
    }

    async fn request(
        &self,
        pipeline: &Pipeline,
        step: &Step,
        observed: &Arc<State>,
    ) -> Result<RunRequest, ReconcileFailure> {
        let mut request = pipeline.request(step, observed, self.credentials(step).await?);
        TAG.clone_into(&mut request.meta.tag);
        Ok(request)
    }

    async fn credentials(&self, step: &Step) -> Result<BTreeMap<String, SecretData>, ReconcileFailure> {
        let mut credentials = BTreeMap::new();
        for wanted in step.credentials.iter().filter(|wanted| wanted.source == CredentialsSource::Secret) {
            let Some(secret) = &wanted.secret_ref else { continue };
            let failed = |class: &str, text: String| {
                let text = format!(
                    "cannot get Composition pipeline step {:?} credential {:?} from Secret: {text}",
                    step.step, wanted.name
                );
                ReconcileFailure::engine(Stage::Compose, class, text)
            };
            let target = connection::secret_ref(&secret.namespace, &secret.name);
            match self.engine.client.read(&target).await {
                Ok(Some(secret)) => {
                    credentials.insert(wanted.name.clone(), connection::data(&secret));
                }
                Ok(None) => {
                    let text = format!("{target} does not exist");
                    return Err(failed("CredentialsNotFound", text));
                }
                Err(error) => return Err(failed(error.class(), error.text())),
            }
        }
        Ok(credentials)
    }
}

/// What a step is given at its first call: what it requires in the Composition, and what its function required last time.
/// It will probably require the same again, and need not be called twice then.
async fn given(
    step: &Step,
    resolver: &StoreResolver<'_>,
    before: Option<&Requirements>,
) -> Result<Requirements, ReconcileFailure> {
    let mut given = Requirements::default();
    for (name, selector) in step.requirements.resources() {
        resolver.size(&selector).await.map_err(|error| {
            let text = format!("cannot fetch bootstrap required resources for requirement {name:?}: {error}");
            ReconcileFailure::engine(Stage::Compose, "RequirementUnreadable", text)
        })?;
        given.resources.insert(name, selector);
    }
    given.schemas.extend(step.requirements.schemas());
    let Some(before) = before else { return Ok(given) };
    for (name, selector) in &before.resources {
        // If it can no longer be read, the function says whether it still requires it.
        if !given.resources.contains_key(name) && resolver.size(selector).await.is_ok() {
            given.resources.insert(name.clone(), selector.clone());
        }
    }
    for (name, selector) in &before.extra_resources {
        if resolver.size(selector).await.is_ok() {
            given.extra_resources.insert(name.clone(), selector.clone());
        }
    }
    for (name, selector) in &before.schemas {
        given.schemas.entry(name.clone()).or_insert_with(|| selector.clone());
    }
    Ok(given)
}
