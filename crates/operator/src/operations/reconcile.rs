//! One reconcile of one object: decide, store the decision, carry it out, decide again on the response, until it is time
//! to wait.
//!
//! A decision is stored on the version of the object it was made on before it is carried out. So a leader that decided on
//! an older version gets a conflict before it calls the provider.

use std::time::Duration;

use diag::Diagnostic;
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::core::DynamicObject;
use manifest::ObjectRef;
use operations::{
    Action, Annotations, Body, Call, CallError, ConditionStatus, ConditionType, Desired, ExternalService,
    FinalizeReason, Identity, LocalState, Now, Observation, Phase, Policy, Response, Schedule, Status, Step,
    decide,
};
use oraclecloud::Kind;
use serde_json::Value;

use super::endpoint::EndpointSecret;
use super::object::{recorded, show, spec};
use crate::runtime::client::{ApiError, MANAGER, Object, ObjectClient};
use crate::runtime::finalizer;

/// The finalizer of every object that may have a resource at the provider. It is OSOK's, so that either operator can take
/// over from the other.
pub const FINALIZER: &str = "finalizers.oci.oracle.com/oci-resources";

/// How often storing a response is retried while others keep changing the object.
const MAX_CONFLICTS: usize = 10;

/// What a reconcile works with.
pub struct Reconcile<'a, S> {
    pub kind: Kind,
    pub client: &'a ObjectClient,
    pub service: &'a S,
    /// Where the service's calls go, and as whom.
    pub identity: Option<&'a Identity>,
    /// What the administrator allows in the object's namespace.
    pub policy: &'a Policy,
    /// When this term of leadership began.
    pub began: Timestamp,
    /// The Secret with the resource's endpoint, for kinds that have one.
    pub endpoint: Option<&'a EndpointSecret>,
    pub settings: &'a Schedule,
    /// The time, and jitter.
    pub moment: &'a (dyn Fn() -> Now + Send + Sync),
    /// Records transitions: each once, after it is stored, however the reconcile ends.
    pub record: &'a (dyn Fn(&Diagnostic) + Send + Sync),
}

/// The result of a reconcile.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub finished: Finished,
    /// The operation that is stored as in flight, and since when.
    pub in_flight: Option<(Phase, Timestamp)>,
    /// What is wrong with the annotations; the same at every reconcile.
    pub warnings: Vec<Diagnostic>,
}

/// What follows a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Another one, after this time or when the object changes.
    Wait(Duration),
    /// Nothing: the finalizer was removed, for this reason.
    Released(FinalizeReason),
}

/// Why a reconcile ended early. Nothing is lost: the next one continues from what is stored.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// Another writer changed the object; it has to be read again.
    #[error("{object} was changed by another writer")]
    Conflict { object: String },
    #[error("cannot {action} {object}")]
    Cluster { action: &'static str, object: String, source: Box<ApiError> },
    /// The API server has an object that does not fit the kind's definition.
    #[error("cannot read {object}")]
    Unreadable { object: String, source: serde_json::Error },
}

impl StepError {
    /// Whether the object is gone.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Cluster { source, .. } if source.is_not_found())
    }
}

impl<S: ExternalService<Spec = Value>> Reconcile<'_, S> {
    /// Reconciles `object` as it was just read. `memory` is what is known of it beside what is stored, also if the reconcile
    /// fails: a restore of the cluster's data may undo what was stored.
    pub async fn run(&self, mut object: DynamicObject, memory: &mut LocalState) -> Result<Report, StepError> {
        let uid = object.uid().expect("an object that was read has a uid");
        let (_, warnings) = Annotations::parse(object.annotations(), &uid);
        let mut input = Input::none();
        loop {
            let moment = (self.moment)();
            let status = self.recorded(&object, moment.time)?;
            let mut desired = self.desired(&object, &uid);
            let decide = |desired: &Desired| {
                let step = decide(desired, &status, memory, input.observation.clone(), self.settings, moment);
                let mut decided = object.clone();
                show(self.kind, &mut decided, &step.status, input.shown.as_ref());
                (step, decided)
            };
            let (mut step, mut decided) = decide(&desired);
            let kept = self.keep_endpoint(&decided, &step).await;
            if let Ok(Some(obstacle)) = &kept {
                desired.endpoint_error = Some(obstacle.clone());
                (step, decided) = decide(&desired);
            }
            let stored = self.store(&object, decided, input.of_mutation).await?;
            *memory = step.local;
            step.diagnostics.iter().for_each(self.record);
            // Only now: a response must not be lost because a Secret cannot be written.
            kept.map_err(|error| failed("keep the endpoint Secret of", &object, error))?;
            input = Input::none();
            // A response that was stored on a newer version says nothing about what that one needs.
            let next = match stored {
                Stored::AsDecided(stored) => {
                    object = stored;
                    step.action
                }
                Stored::OnNewer(newer) => {
                    object = newer;
                    continue;
                }
            };
            let finished = match next {
                Action::AddFinalizer => {
                    object = self.set_finalizer(&object, true).await?;
                    continue;
                }
                Action::Call(call) => {
                    // Boxed, or a reconcile would be as large as a call even while it waits for the API server.
                    let result = Box::pin(self.service.call(spec(&object), &uid, &call)).await;
                    input = Input::answer(self.service, spec(&object), &uid, call, result);
                    continue;
                }
                Action::Requeue(pause) => Finished::Wait(pause),
                Action::RemoveFinalizer(evidence) => {
                    self.remove_endpoint(&object).await?;
                    self.set_finalizer(&object, false).await?;
                    Finished::Released(evidence)
                }
            };
            let recorded = self.recorded(&object, moment.time)?;
            let in_flight = recorded.current().filter(|_| matches!(finished, Finished::Wait(_)));
            let in_flight =
                in_flight.map(|it| (it.record.phase, it.record.started_at.unwrap_or(it.updated_at)));
            return Ok(Report { finished, in_flight, warnings });
        }
    }

    fn recorded(&self, object: &DynamicObject, now: Timestamp) -> Result<Status, StepError> {
        let unreadable = |source| StepError::Unreadable { object: named(object), source };
        recorded(self.kind, object, now).map_err(unreadable)
    }

    fn desired(&self, object: &DynamicObject, uid: &str) -> Desired {
        Desired {
            kind: self.service.kind(),
            uid: uid.to_owned(),
            generation: object.metadata.generation.unwrap_or_default(),
            created_in_term: object.creation_timestamp().is_some_and(|created| created.0 > self.began),
            body: self.service.create_body(spec(object), uid),
            unshown: self.service.unshown(spec(object)),
            missing_secret: self.service.missing_secret(spec(object)),
            missing_in_updates: self.service.missing_in_updates(spec(object)),
            scope: self.service.scope(spec(object)),
            identity: self.identity.cloned(),
            policy: self.policy.clone(),
            deleting: object.metadata.deletion_timestamp.is_some(),
            has_finalizer: finalizer::is_present(&to_json(object), FINALIZER),
            annotations: Annotations::parse(object.annotations(), uid).0,
            endpoint_error: None,
        }
    }

    /// Publishes the resource's endpoint before the object becomes ready; why not, if it cannot be.
    async fn keep_endpoint(&self, decided: &DynamicObject, step: &Step) -> Result<Option<String>, ApiError> {
        let ready = step.status.condition(ConditionType::Ready);
        let is_ready = ready.is_some_and(|ready| ready.status == ConditionStatus::True);
        match self.endpoint {
            Some(secret)
                if is_ready
                    && matches!(step.action, Action::Requeue(_))
                    && decided.metadata.deletion_timestamp.is_none() =>
            {
                secret.keep(self.client, decided).await
            }
            _ => Ok(None),
        }
    }

    async fn remove_endpoint(&self, object: &DynamicObject) -> Result<(), StepError> {
        let Some(secret) = self.endpoint else { return Ok(()) };
        secret
            .remove(self.client, object)
            .await
            .map_err(|error| failed("remove the endpoint Secret of", object, error))
    }

    /// Stores the status of `decided`, which was decided on `object`.
    ///
    /// The response to a mutation `must_be_kept`: if the object has changed since, it is stored on the newer version,
    /// provided that the status is still the one we know. A status that has changed is another leader's, which must not
    /// be overwritten.
    async fn store(
        &self,
        object: &DynamicObject,
        decided: DynamicObject,
        must_be_kept: bool,
    ) -> Result<Stored, StepError> {
        if decided == *object {
            return Ok(Stored::AsDecided(decided));
        }
        let known = status_of(object);
        let new = status_of(&decided);
        let mut candidate = decided;
        for attempt in 0..MAX_CONFLICTS {
            match self.client.replace_status(&to_json(&candidate), MANAGER).await {
                Ok(stored) if attempt == 0 => return Ok(Stored::AsDecided(from_json(stored)?)),
                Ok(stored) => return Ok(Stored::OnNewer(from_json(stored)?)),
                Err(error) if error.is_conflict() && must_be_kept => {
                    let read = async { self.client.read(&ObjectRef::of(&to_json(object))?).await };
                    let newer = read.await.map_err(|error| failed("read", object, error))?;
                    let Some(newer) = newer.map(from_json).transpose()? else { break };
                    if newer.metadata.uid != object.metadata.uid || status_of(&newer) != known {
                        break;
                    }
                    candidate = newer;
                    candidate.data["status"] = new.clone().unwrap_or_default();
                }
                Err(error) => return Err(failed("store the status of", object, error)),
            }
        }
        Err(StepError::Conflict { object: named(object) })
    }

    async fn set_finalizer(&self, object: &DynamicObject, present: bool) -> Result<DynamicObject, StepError> {
        let set = finalizer::set(self.client, &to_json(object), &[FINALIZER], present, MANAGER).await;
        match set.map_err(|error| failed("set the finalizers of", object, error))? {
            Some(answer) => from_json(answer),
            None => Ok(object.clone()),
        }
    }
}

enum Stored {
    /// On the version that was decided on.
    AsDecided(DynamicObject),
    /// On a version that others have written since.
    OnNewer(DynamicObject),
}

/// What a decision is based on beside the object.
struct Input {
    observation: Observation,
    /// The resource, when it was read.
    shown: Option<Value>,
    /// Whether it is the response to a call that changed something at the provider.
    of_mutation: bool,
}

impl Input {
    const fn none() -> Self {
        Self { observation: Observation::none(), shown: None, of_mutation: false }
    }

    fn answer<S: ExternalService<Spec = Value>>(
        service: &S,
        spec: &Value,
        uid: &str,
        call: Call,
        result: Result<Response, CallError>,
    ) -> Self {
        let shown = match (&call, &result) {
            (Call::Get { .. }, Ok(Response { body: Body::Json(body), .. })) => Some(body.clone()),
            _ => None,
        };
        let of_mutation = call.mutates();
        Self { observation: Observation::of_call(service, spec, uid, call, result), shown, of_mutation }
    }
}

fn to_json(object: &DynamicObject) -> Object {
    match serde_json::to_value(object) {
        Ok(Value::Object(object)) => object,
        _ => unreachable!("a custom resource is a JSON object"),
    }
}

fn from_json(object: Object) -> Result<DynamicObject, StepError> {
    let name = ObjectRef::of(&object).map(|object| object.to_string()).unwrap_or_default();
    serde_json::from_value(Value::Object(object))
        .map_err(|source| StepError::Unreadable { object: name, source })
}

fn status_of(object: &DynamicObject) -> Option<Value> {
    object.data.get("status").cloned()
}

fn failed(action: &'static str, object: &DynamicObject, error: ApiError) -> StepError {
    if error.is_conflict() {
        return StepError::Conflict { object: named(object) };
    }
    StepError::Cluster { action, object: named(object), source: Box::new(error) }
}

fn named(object: &DynamicObject) -> String {
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    format!("{namespace}/{}", object.name_any())
}
