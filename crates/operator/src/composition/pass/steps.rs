//! Runs the steps of a pipeline, each with its credentials and what it requires.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use composition::RunErrorClass;
use composition::composite::Layout;
use composition::composition::{Composition, CredentialsSource, SecretRef, Step};
use composition::connection;
use composition::health::{ReconcileFailure, Stage};
use composition::pipeline::{Audience, Failure, Outcome, Pipeline};
use composition::protocol::{Object, Requirements, RunRequest, SecretData, State};
use functions::{Functions, Reservation, Resolver};

use crate::composition::metrics::CompositionMetrics;
use crate::composition::recording::Recorder;
use crate::runtime::client::{ApiError, ObjectClient};
use crate::runtime::controller::goes_first;

/// Stands in for the tag of our requests: `functions` sends the real one, and puts this into a response that carries it.
const TAG: &str = "pass";

/// Reads the Secrets with the credentials of steps: from a cluster, or from files.
pub trait Credentials: Send + Sync {
    /// The entries of a Secret, if it exists.
    fn read<'a>(&'a self, secret: &'a SecretRef) -> CredentialsFuture<'a>;
}

pub type CredentialsFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<SecretData>, ApiError>> + Send + 'a>>;

impl Credentials for ObjectClient {
    fn read<'a>(&'a self, secret: &'a SecretRef) -> CredentialsFuture<'a> {
        Box::pin(async {
            let read = self.read(&connection::secret_ref(&secret.namespace, &secret.name)).await?;
            Ok(read.as_ref().map(connection::data))
        })
    }
}

/// Runs the steps.
pub struct Steps<'a> {
    functions: &'a Functions,
    resolver: &'a dyn Resolver,
    credentials: &'a dyn Credentials,
    /// Given to the first step.
    context: Object,
    metrics: Option<&'a CompositionMetrics>,
    recorder: Option<&'a Recorder>,
}

/// The result of a pipeline.
pub struct StepsRun {
    pub outcome: Outcome,
    /// What failed, in a function or in the engine.
    pub failure: Option<ReconcileFailure>,
    /// What each step required.
    pub required: BTreeMap<String, Requirements>,
    /// The function that could not be reached.
    pub unreachable: Option<String>,
    /// The context after the last step.
    pub context: Option<Object>,
    /// The memory that `outcome` takes.
    pub reservation: Reservation,
}

impl<'a> Steps<'a> {
    pub fn new(
        functions: &'a Functions,
        resolver: &'a dyn Resolver,
        credentials: &'a dyn Credentials,
    ) -> Self {
        Self { functions, resolver, credentials, context: Object::new(), metrics: None, recorder: None }
    }

    /// The same with a context for the first step.
    #[must_use]
    pub fn with_context(self, context: Object) -> Self {
        Self { context, ..self }
    }

    /// The same, counted and recorded.
    pub(in crate::composition) fn reported(
        self,
        metrics: &'a CompositionMetrics,
        recorder: Option<&'a Recorder>,
    ) -> Self {
        Self { metrics: Some(metrics), recorder, ..self }
    }

    /// Runs the steps of `revision` until one fails. `before` is what each step required last time.
    pub async fn run(
        &self,
        revision: &Composition,
        layout: Layout,
        observed: &Arc<State>,
        before: &BTreeMap<String, Requirements>,
    ) -> StepsRun {
        let audience = match layout {
            Layout::Legacy => Audience::CompositeAndClaim,
            Layout::Modern => Audience::CompositeOnly,
        };
        let mut pipeline = Pipeline::new(audience).with_context(self.context.clone());
        let runner = self.functions.runner(self.resolver).going_first(goes_first());
        let runner = runner.watched_by(self.recorder.map(Recorder::as_watcher));
        let mut required = BTreeMap::new();
        let mut failure = None;
        let mut unreachable = None;
        for step in &revision.spec.pipeline {
            let function = &step.function_ref.name;
            if let Some(recorder) = self.recorder {
                recorder.step(step);
            }
            let prepared = self.prepare(&pipeline, step, observed, before.get(&step.step)).await;
            let (request, given) = match prepared {
                Ok(prepared) => prepared,
                Err(error) => {
                    failure = Some(ReconcileFailure { step: Some(step.step.clone()), ..error });
                    break;
                }
            };
            self.waiting(function);
            let answer = runner.run_given(function, &request, &given).await;
            self.waiting(function);
            if let Some(metrics) = self.metrics {
                let outcome = answer.as_ref().map_or_else(|error| error.class.name(), |_| "ok");
                metrics.function_call(function, outcome, runner.take_called());
            }
            match answer {
                Ok(answer) => {
                    required.insert(step.step.clone(), answer.requirements.clone());
                    pipeline.answered(&step.step, TAG, answer);
                }
                Err(error) => {
                    if error.class == RunErrorClass::Unavailable {
                        unreachable = Some(function.clone());
                    }
                    if let Some(recorder) = self.recorder {
                        recorder.step_failed(&error);
                    }
                    pipeline.failed(&step.step, function, error);
                }
            }
            if !pipeline.goes_on() {
                break;
            }
        }
        let context = pipeline.context().cloned();
        let outcome = pipeline.finish();
        let failure = failure.or_else(|| outcome.failure.as_ref().map(ReconcileFailure::of));
        if matches!(outcome.failure, Some(Failure::Run { .. })) {
            // A step that did not run requires what it required before.
            for (step, requirements) in before {
                required.entry(step.clone()).or_insert_with(|| requirements.clone());
            }
        }
        StepsRun { outcome, failure, required, unreachable, context, reservation: runner.into_reservation() }
    }

    fn waiting(&self, function: &str) {
        if let Some(metrics) = self.metrics {
            metrics.function_waiting(function, self.functions.waiting(function));
        }
    }

    /// The request of a step, and what it is given with its first call.
    async fn prepare(
        &self,
        pipeline: &Pipeline,
        step: &Step,
        observed: &Arc<State>,
        before: Option<&Requirements>,
    ) -> Result<(RunRequest, Requirements), ReconcileFailure> {
        let mut request = pipeline.request(step, observed, self.credentials(step).await?);
        TAG.clone_into(&mut request.meta.tag);
        Ok((request, self.given(step, before).await?))
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
            match self.credentials.read(secret).await {
                Ok(Some(data)) => {
                    credentials.insert(wanted.name.clone(), data);
                }
                Ok(None) => {
                    let target = connection::secret_ref(&secret.namespace, &secret.name);
                    let text = format!("{target} does not exist");
                    return Err(failed("CredentialsNotFound", text));
                }
                Err(error) => return Err(failed(error.class(), error.text())),
            }
        }
        Ok(credentials)
    }

    /// What a step is given at its first call: what it requires in the Composition, and what its function required last time.
    /// It will probably require the same again, and need not be called twice then.
    async fn given(
        &self,
        step: &Step,
        before: Option<&Requirements>,
    ) -> Result<Requirements, ReconcileFailure> {
        let resolver = self.resolver;
        let mut given = Requirements::default();
        for (name, selector) in step.requirements.resources() {
            resolver.size(&selector).await.map_err(|error| {
                let text =
                    format!("cannot fetch bootstrap required resources for requirement {name:?}: {error}");
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
}
