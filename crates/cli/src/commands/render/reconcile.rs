//! One reconcile of an XR as the operator does it, with files instead of the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use composition::composite::{Composite, identity, refs_intent};
use composition::composition::{CredentialsSource, SecretRef, Step};
use composition::condition::{Condition, Conditions, RESPONSIVE};
use composition::event::Event;
use composition::function::{Function, Location, is_built_in};
use composition::health::{ReconcileFailure, Stage};
use composition::observed::Observed;
use composition::pipeline::Outcome;
use composition::protocol::{ConditionStatus, Object, SecretData};
use composition::readiness::{Child, ChildState};
use composition::render::{self, RenderInput};
use composition::status::{Reconcile, report};
use composition::{RunError, RunErrorClass, crd, desired, garbage_collection, object};
use diag::Diagnostic;
use functions::{Functions, Options};
use jiff::Timestamp;
use manifest::GroupVersionKind;
use operator::composition::pass::{Credentials, CredentialsFuture, Steps, StepsRun};
use serde_json::Value;

use super::inputs::Inputs;
use super::resolver::{FileResolver, Requirements};
use crate::codes;
use crate::support::exit::Failure;

/// The result of a rendering.
pub(crate) struct Rendered {
    /// The XR as an engine has written it: references to what it is composed of, and the status.
    pub(crate) composite: Object,
    /// The same on top of the XR in the file.
    pub(crate) full_composite: Object,
    /// The objects that would be applied, by key.
    pub(crate) composed: Vec<Object>,
    /// The objects that would be deleted.
    pub(crate) deleted: Vec<Object>,
    pub(crate) outcome: Outcome,
    /// The events that would be recorded on the XR and on its claim.
    pub(crate) events: Vec<Event>,
    /// What the functions required.
    pub(crate) requirements: Requirements,
    /// The context after the last step.
    pub(crate) context: Option<Object>,
    /// Why the reconcile failed, if it did.
    pub(crate) failure: Option<Diagnostic>,
}

/// The fixed time of every rendering, so that the same input renders to the same text.
const RENDER_TIME: &str = "2024-01-01T00:00:00Z";

pub(crate) async fn reconcile(inputs: &Inputs, timeout: Duration) -> Result<Rendered, Failure> {
    let mut xr = inputs.xr.clone();
    if let Some(definition) = &inputs.definition {
        crd::fill_defaults(&mut xr, &crd::composite(definition));
    }
    let prepared = render::prepare(&xr, inputs.definition.as_ref(), &inputs.composition, &inputs.observed);
    let filled = xr.clone();
    let RenderInput { xr, layout, revision, observed } = prepared.map_err(|errors| {
        let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Diagnostic::error(codes::RENDER_INPUT, "the files contradict each other").detail(all.join("\n"))
    })?;
    let observed = Observed::given(observed)
        .map_err(|error| Diagnostic::error(codes::RENDER_INPUT, error.to_string()))?;
    let state = Arc::new(observed.state(&xr, SecretData::default(), BTreeMap::new()));

    let files = FileResolver::new(&inputs.required, &inputs.schemas);
    let credentials = FileCredentials(inputs);
    credentials.check(&revision.spec.pipeline)?;
    let known = inputs.functions.clone();
    let functions = Functions::new(Options::default(), move |name| locate(name, &known))
        .map_err(|error| Diagnostic::error(codes::RENDER_FUNCTION, error.to_string()))?;
    let steps = Steps::new(&functions, &files, &credentials).with_context(inputs.context.clone());
    let no_requirements = BTreeMap::new();
    let ran = steps.run(&revision, layout, &state, &no_requirements);
    let Ok(StepsRun { outcome, mut failure, context, .. }) = tokio::time::timeout(timeout, ran).await else {
        let title = format!("the functions did not respond within {} s", timeout.as_secs());
        return Err(Diagnostic::error(codes::RENDER_FUNCTION, title)
            .hint("Check that they are running, or raise --timeout.")
            .into());
    };
    let mut composed = BTreeMap::new();
    let mut deleted = Vec::new();
    if failure.is_none() {
        match compose(&xr, &observed.resources, &outcome) {
            Ok(made) => (composed, deleted) = made,
            Err(message) => failure = Some(ReconcileFailure::engine(Stage::Compose, "Render", message)),
        }
    }
    let children: Vec<Child> = composed
        .iter()
        .map(|(key, one): (&String, &desired::Composed)| Child {
            key: key.clone(),
            ready: one.ready,
            state: ChildState::Applied,
            problem: observed.resources.get(key).and_then(composition::health::problem),
        })
        .collect();
    let now: Timestamp = RENDER_TIME.parse().expect("a constant time");
    let settled = report(&Reconcile {
        xr: Composite::new(&xr, layout),
        revision: object::name(&revision.object).unwrap_or_default(),
        outcome: &outcome,
        failure: failure.as_ref(),
        children: &children,
        missing: &[],
        responsive: Condition::new(RESPONSIVE, ConditionStatus::True, "WatchCircuitClosed", now),
        published: None,
        now,
    });
    let composite = Composite::new(&xr, layout);
    let mut written = match &failure {
        None => refs_intent(composite, composed.values().map(|one| &one.reference)),
        Some(_) => identity(&xr),
    };
    written.insert("status".to_owned(), status(&settled.intent).into());
    fix_times(&mut written);
    let mut full_composite = filled;
    merge(&mut full_composite, &written);
    let mut composed: Vec<Object> = composed.into_values().map(|one| one.intent).collect();
    composed.iter_mut().for_each(fix_times);
    Ok(Rendered {
        composite: written,
        full_composite,
        composed,
        deleted,
        failure: failure.as_ref().map(|failure| diagnose(failure, &outcome)),
        outcome,
        events: settled.events,
        requirements: files.requirements(),
        context,
    })
}

/// The address of a function from the files.
fn locate(name: &str, functions: &[Function]) -> Result<Location, RunError> {
    let function = functions.iter().find(|function| function.name == name);
    let endpoint =
        function.and_then(|function| function.development.clone().or_else(|| function.endpoint.clone()));
    match endpoint {
        Some(endpoint) => Ok(Location::Endpoint(endpoint)),
        None if is_built_in(name) => Ok(Location::BuiltIn),
        None => {
            let why = if function.is_some() { "has no endpoint" } else { "is not among the functions" };
            let message = format!(
                "function {name:?} {why}: start it, and annotate its Function with \
                 render.crossplane.io/runtime: Development and \
                 render.crossplane.io/runtime-development-target: HOST:PORT (render starts no containers)"
            );
            Err(RunError::new(RunErrorClass::FunctionNotFound, message))
        }
    }
}

/// Credentials from the Secrets in files.
struct FileCredentials<'a>(&'a Inputs);

impl FileCredentials<'_> {
    fn of(&self, secret: &SecretRef) -> Option<&SecretData> {
        self.0.credentials.get(&(secret.namespace.clone(), secret.name.clone()))
    }

    /// Refuses steps whose credentials are missing, before any function runs.
    fn check(&self, steps: &[Step]) -> Result<(), Failure> {
        for step in steps {
            let from_secrets = step.credentials.iter().filter(|one| one.source == CredentialsSource::Secret);
            let mut secrets = from_secrets.filter_map(|one| one.secret_ref.as_ref());
            if let Some(secret) = secrets.find(|secret| self.of(secret).is_none()) {
                let title = format!(
                    "step {:?} needs credentials from Secret {}/{}",
                    step.step, secret.namespace, secret.name
                );
                return Err(Diagnostic::error(codes::RENDER_INPUT, title)
                    .hint("Write the Secret to a file and pass it with --function-credentials.")
                    .into());
            }
        }
        Ok(())
    }
}

impl Credentials for FileCredentials<'_> {
    fn read<'a>(&'a self, secret: &'a SecretRef) -> CredentialsFuture<'a> {
        Box::pin(async { Ok(self.of(secret).cloned()) })
    }
}

/// The objects that would be applied and deleted.
type Made = (BTreeMap<String, desired::Composed>, Vec<Object>);

fn compose(xr: &Object, observed: &BTreeMap<String, Object>, outcome: &Outcome) -> Result<Made, String> {
    // Without a cluster, scopes are a guess: built-in kinds are known, and most others are namespaced.
    let is_namespaced =
        |gvk: &GroupVersionKind| Some(!manifest::is_known_cluster_scoped(gvk.group(), gvk.kind()));
    let rendered = desired::render(xr, observed, &outcome.desired, is_namespaced);
    let rendered = rendered.map_err(|error| error.to_string())?;
    let uid = object::uid(xr).unwrap_or_default();
    let doomed = garbage_collection::undesired(uid, observed, &rendered.resources)
        .map_err(|error| error.to_string())?;
    let deleted = doomed.iter().filter_map(|one| observed.get(&one.key).cloned()).collect();
    Ok((rendered.resources, deleted))
}

/// The computed status, in the order of Crossplane's, without what the engine keeps there for itself: the XRD's own schema does not
/// have it, so a validation of what is rendered would fail.
fn status(intent: &Object) -> Object {
    let mut status = object::map(intent, &["status"]).cloned().unwrap_or_default();
    status.remove("crossplane");
    let conditions = Conditions::of(intent);
    let is_first = |condition: &&Condition| condition.kind == RESPONSIVE;
    let rest = conditions.iter().filter(|condition| !is_first(condition));
    let ordered: Conditions = conditions.iter().filter(is_first).chain(rest).cloned().collect();
    status.insert("conditions".to_owned(), ordered.to_value());
    status
}

/// Gives all conditions the time of every rendering, also those that have not changed.
fn fix_times(object: &mut Object) {
    let conditions = object.get_mut("status").and_then(|status| status.get_mut("conditions"));
    for condition in conditions.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(time) = condition.get_mut("lastTransitionTime") {
            *time = RENDER_TIME.into();
        }
    }
}

/// Puts `from` on top of `into`; lists are replaced.
fn merge(into: &mut Object, from: &Object) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Object(into)), Value::Object(from)) => merge(into, from),
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

fn diagnose(failure: &ReconcileFailure, outcome: &Outcome) -> Diagnostic {
    let diagnostic = Diagnostic::error(codes::RENDER_FUNCTION, failure.text());
    match &outcome.failure {
        Some(composition::pipeline::Failure::Fatal { step, .. }) => diagnostic
            .detail(format!("The function of step {step:?} stopped the pipeline; nothing would be applied.")),
        _ => diagnostic,
    }
}
