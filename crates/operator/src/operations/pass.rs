//! One pass over one object: store what was decided, do it, come back with the answer, until it is time to wait.
//!
//! Everything is stored before it is done, with the version of the object that the decision was made on: whoever
//! decides on something older learns of it before anything is sent.

use std::time::Duration;

use diag::Diagnostic;
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams, PostParams};
use operations::{
    Action, Annotations, Body, Call, CallError, ConditionStatus, ConditionType, Desired, ExternalService,
    FinalizeReason, LocalState, Now, Observation, Phase, Response, Schedule, Step, decide,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::endpoint::EndpointSecret;
use super::object::ExternalObject;

/// The finalizer on every object that may have something at the provider; OSOK's, so that objects can change hands.
pub const FINALIZER: &str = "finalizers.oci.oracle.com/oci-resources";

/// How often an answer is put on record anew while others keep changing the object.
const MOST_CONFLICTS: usize = 10;

/// What a pass works with.
pub struct Pass<'a, S, O> {
    /// Where the object lives.
    pub api: &'a Api<O>,
    /// Where its resource lives.
    pub service: &'a S,
    /// The Secret that says where the resource can be reached, for kinds that have one.
    pub endpoint: Option<&'a EndpointSecret<O>>,
    /// The intervals.
    pub settings: &'a Schedule,
    /// The time, and a bit of chance.
    pub moment: &'a (dyn Fn() -> Now + Send + Sync),
    /// Hears of transitions, each once and after it is on record, however the pass ends.
    pub tell: &'a (dyn Fn(&Diagnostic) + Send + Sync),
}

/// How a pass ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What comes next.
    pub ending: Ending,
    /// What to bring along to the next pass over the object.
    pub memory: LocalState,
    /// The operation that is on record as in flight: which, and since when.
    pub in_flight: Option<(Phase, Timestamp)>,
    /// What people should mend in the annotations; said in every pass.
    pub warnings: Vec<Diagnostic>,
}

/// What comes after a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Another pass, when this much time has passed or when the object changes.
    Wait(Duration),
    /// Nothing: the object was let go, for this reason.
    Released(FinalizeReason),
}

/// Why a pass ended early. Nothing is lost: the next one goes on from what is on record.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// Somebody changed the object in the meantime; another pass is due at once.
    #[error("{object} was changed in the meantime")]
    Changed {
        /// Which object.
        object: String,
    },
    /// The API server did not do as asked.
    #[error("cannot {action} {object}")]
    Cluster {
        /// What was to be done.
        action: &'static str,
        /// To which object.
        object: String,
        /// Why not.
        source: Box<kube::Error>,
    },
}

impl PassError {
    /// Whether the object is not there any more.
    pub(super) fn is_gone(&self) -> bool {
        match self {
            Self::Changed { .. } => false,
            Self::Cluster { source, .. } => {
                matches!(&**source, kube::Error::Api(status) if status.code == 404 && status.is_not_found())
            }
        }
    }
}

impl<O: ExternalObject, S: ExternalService<Spec = O::Spec>> Pass<'_, S, O> {
    /// Goes over `object` as it was just read.
    pub async fn over(&self, mut object: O, mut memory: LocalState) -> Result<Report, PassError> {
        let uid = object.uid().expect("an object that was read has a uid");
        let (_, warnings) = Annotations::parse(object.annotations(), &uid);
        let mut news = News::none();
        loop {
            let moment = (self.moment)();
            let status = object.recorded(moment.time);
            let mut desired = desired::<S, O>(&object, &uid);
            let decide = |desired: &Desired| {
                let step = decide(desired, &status, &memory, news.observation.clone(), self.settings, moment);
                let mut decided = object.clone();
                decided.show(step.status.clone(), news.shown.as_ref());
                (step, decided)
            };
            let (mut step, mut decided) = decide(&desired);
            let kept = self.keep_endpoint(&decided, &step).await;
            if let Ok(Some(obstacle)) = &kept {
                desired.endpoint_error = Some(obstacle.clone());
                (step, decided) = decide(&desired);
            }
            memory = step.local;
            let stored = self.store(&object, decided, news.of_mutation).await?;
            step.diagnostics.iter().for_each(self.tell);
            // Only now: an answer must not be lost for a Secret that cannot be written at the moment.
            kept.map_err(|error| failed("keep the endpoint Secret of", &object, error))?;
            news = News::none();
            // An answer that went on record for a newer object leaves open what is to be done for that one.
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
            let ending = match next {
                Action::AddFinalizer => {
                    object = self.set_finalizer(&object, true).await?;
                    continue;
                }
                Action::Call(call) => {
                    // Boxed, since a pass would otherwise be as large as a call even while it waits for a cluster.
                    let result = Box::pin(self.service.call(object.wanted(), &uid, &call)).await;
                    news = News::answer::<S>(object.wanted(), &uid, call, result);
                    continue;
                }
                Action::Requeue(pause) => Ending::Wait(pause),
                Action::RemoveFinalizer(evidence) => {
                    self.remove_endpoint(&object).await?;
                    self.set_finalizer(&object, false).await?;
                    Ending::Released(evidence)
                }
            };
            let recorded = object.recorded(moment.time);
            let in_flight = recorded.current().filter(|_| matches!(ending, Ending::Wait(_)));
            let in_flight =
                in_flight.map(|it| (it.record.phase, it.record.started_at.unwrap_or(it.updated_at)));
            return Ok(Report { ending, memory, in_flight, warnings });
        }
    }

    /// Tells applications where the resource can be reached, before it says to be ready; what stands in the way.
    async fn keep_endpoint(&self, decided: &O, step: &Step) -> kube::Result<Option<String>> {
        let ready = step.status.condition(ConditionType::Ready);
        let is_ready = ready.is_some_and(|ready| ready.status == ConditionStatus::True);
        match self.endpoint {
            Some(secret)
                if is_ready
                    && matches!(step.action, Action::Requeue(_))
                    && decided.meta().deletion_timestamp.is_none() =>
            {
                secret.keep(decided).await
            }
            _ => Ok(None),
        }
    }

    async fn remove_endpoint(&self, object: &O) -> Result<(), PassError> {
        let Some(secret) = self.endpoint else { return Ok(()) };
        secret.remove(object).await.map_err(|error| failed("remove the endpoint Secret of", object, error))
    }

    /// Stores the status of `decided`, which was decided on `object`.
    ///
    /// The answer to a mutation `must_be_kept`: when others changed the object since, it is stored on what they made of
    /// it, provided that the status is still the one we know. A status that another wrote is another leader's, and it
    /// is not for us to overwrite.
    async fn store(&self, object: &O, decided: O, must_be_kept: bool) -> Result<Stored<O>, PassError> {
        if decided == *object {
            return Ok(Stored::AsDecided(decided));
        }
        let name = object.name_any();
        let known = status_of(object);
        let new = status_of(&decided);
        let mut candidate = decided;
        for attempt in 0..MOST_CONFLICTS {
            match self.api.replace_status(&name, &PostParams::default(), &candidate).await {
                Ok(stored) if attempt == 0 => return Ok(Stored::AsDecided(stored)),
                Ok(stored) => return Ok(Stored::OnNewer(stored)),
                Err(kube::Error::Api(status)) if status.is_conflict() && must_be_kept => {
                    let newer = self.api.get(&name).await.map_err(|error| failed("read", object, error))?;
                    if newer.meta().uid != object.meta().uid || status_of(&newer) != known {
                        break;
                    }
                    candidate = with_status(&newer, new.as_ref());
                }
                Err(error) => return Err(failed("store the status of", object, error)),
            }
        }
        Err(PassError::Changed { object: named(object) })
    }

    /// Puts our finalizer on the object or takes it off; others stay.
    async fn set_finalizer(&self, object: &O, held: bool) -> Result<O, PassError> {
        let mut finalizers = object.finalizers().to_vec();
        if is_held(object) == held {
            return Ok(object.clone());
        }
        if held {
            finalizers.push(FINALIZER.to_owned());
        } else {
            finalizers.retain(|finalizer| finalizer != FINALIZER);
        }
        let patch = json!({
            "metadata": {"resourceVersion": object.resource_version(), "finalizers": finalizers}
        });
        let patched = self.api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.map_err(|error| failed("set the finalizers of", object, error))
    }
}

/// What was stored, on what.
enum Stored<O> {
    /// On the object that was decided on.
    AsDecided(O),
    /// On one that others have changed since.
    OnNewer(O),
}

/// What a decision has to go by.
struct News {
    observation: Observation,
    /// The resource, when it was read.
    shown: Option<Value>,
    /// Whether it is the answer to something that changed the provider's state.
    of_mutation: bool,
}

impl News {
    const fn none() -> Self {
        Self { observation: Observation::none(), shown: None, of_mutation: false }
    }

    fn answer<S: ExternalService>(
        spec: &S::Spec,
        uid: &str,
        call: Call,
        result: Result<Response, CallError>,
    ) -> Self {
        let shown = match (&call, &result) {
            (Call::Get { .. }, Ok(Response { body: Body::Json(body), .. })) => Some(body.clone()),
            _ => None,
        };
        let of_mutation = call.mutates();
        Self { observation: Observation::of_call::<S>(spec, uid, call, result), shown, of_mutation }
    }
}

fn desired<S: ExternalService<Spec = O::Spec>, O: ExternalObject>(object: &O, uid: &str) -> Desired {
    Desired {
        kind: S::KIND,
        uid: uid.to_owned(),
        generation: object.meta().generation.unwrap_or_default(),
        body: S::create_body(object.wanted(), uid),
        deleting: object.meta().deletion_timestamp.is_some(),
        has_finalizer: is_held(object),
        annotations: Annotations::parse(object.annotations(), uid).0,
        endpoint_error: None,
    }
}

fn is_held(object: &impl kube::Resource) -> bool {
    object.meta().finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}

fn status_of(object: &impl Serialize) -> Option<Value> {
    serde_json::to_value(object).expect("an object is JSON").get("status").cloned()
}

fn with_status<O: Serialize + DeserializeOwned>(object: &O, status: Option<&Value>) -> O {
    let mut value = serde_json::to_value(object).expect("an object is JSON");
    value["status"] = json!(status);
    serde_json::from_value(value).expect("an object with another's status is one")
}

fn failed(action: &'static str, object: &impl kube::Resource, error: kube::Error) -> PassError {
    match error {
        kube::Error::Api(status) if status.is_conflict() => PassError::Changed { object: named(object) },
        source => PassError::Cluster { action, object: named(object), source: Box::new(source) },
    }
}

fn named(object: &impl kube::Resource) -> String {
    let namespace = object.meta().namespace.as_deref().unwrap_or_default();
    format!("{namespace}/{}", object.name_any())
}
