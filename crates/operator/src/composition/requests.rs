//! Answers what users ask the operator: to render XRs with a changed platform, and to record a pass.
//!
//! ```text
//! user ──▶ Request ──▶ certified by the API server? ──▶ may the user know? ──▶ plan, inspect ──▶ encrypted answer in its status
//! ```
//!
//! A request is an object, so it goes where the user's kubeconfig goes, whether the operator runs in the cluster or outside, and
//! without a port to reach it at. The user deletes it; what a killed command leaves behind, the operator deletes when its time is
//! over. `book/src/decisions/0010-questions-to-the-operator.md` says why.

mod identity;
mod inspect;
mod plan;
mod seal;
mod wire;

pub use identity::requester;
pub use seal::{OpeningKey, Unsealable};
pub use wire::{
    InspectQuestion, MAX_QUESTION, MAX_XRS, Named, Operation, PlanQuestion, RequestSpec, RequestState,
    RequestStatus, Requester, pack, request_kind,
};

use std::io;
use std::sync::Arc;
use std::time::Duration;

use backoff::Backoff;
use composition::object;
use composition::protocol::Object;
use manifest::Namespace;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use self::identity::Rights;
use super::engine::Engine;
use super::function::FunctionLocations;
use crate::runtime::client::{ApiError, MANAGER};
use crate::runtime::controller::{self, Action, ReconcileError, Reconciler};
use crate::runtime::queue::Queue;
use crate::runtime::store::{Key, Source, Store};

/// How often it is checked whether the kind is served, while it is not.
const INSTALLED_INTERVAL: Duration = Duration::from_secs(60);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// How long a request may stay after the user has given up.
const SLACK: Duration = Duration::from_secs(60);
/// How often a request that is worked on says so.
const BEAT: Duration = Duration::from_secs(3);
/// A copy of the operator that has not said so for this long is gone.
const SILENCE: Duration = Duration::from_secs(12);
/// Max concurrent requests: each may be about a hundred XRs.
const MAX_AT_WORK: usize = 4;
/// How often a request is taken over from a copy that ended. It may be the request that ends them.
const MAX_TAKEOVERS: u32 = 1;
/// How long another copy gets that can do what this one cannot.
const OTHERS_FIRST: Duration = Duration::from_secs(3);

const GIVEN_UP: &str = "two copies of the operator have ended while they worked on the request, so no other takes it up. Ask \
                        for less, or look into their logs";

/// Answers requests.
pub(super) struct Requests {
    engine: Arc<Engine>,
    locations: Arc<FunctionLocations>,
    store: Store,
    /// How this copy calls itself.
    operator: String,
    /// Limits how many are worked on. The others say that they are taken up, so that their users know that an operator runs.
    turns: Semaphore,
    /// Limits how many questions are read before they have a turn.
    readers: Semaphore,
    queue: Queue<Self>,
}

/// What is known of a request from one reconcile to the next.
#[derive(Default)]
pub(super) struct RequestMemory {
    /// When it was first seen. The time of the API server's clock is not compared with ours.
    seen: Option<Instant>,
    /// The last sign of another copy that works on it, and when it was seen.
    beat: Option<(u64, Instant)>,
}

/// Why a request is not answered.
#[derive(Debug)]
enum Refusal {
    /// The user reads why.
    Refused(String),
    /// Another copy of the operator may be able to.
    NotHere(String),
    TooLarge,
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Refused(format!("the request cannot be read: {error}"))
    }
}

impl From<cluster::Error> for Refusal {
    fn from(error: cluster::Error) -> Self {
        Self::Refused(ApiError::from(error).text())
    }
}

/// Answers requests once their kind is served, until the engine stops. Never returns.
pub(super) async fn run(engine: &Arc<Engine>, locations: &Arc<FunctionLocations>) {
    let kind = request_kind();
    while engine.client.session().resource(&kind).await.is_err() {
        tokio::select! {
            biased;
            () = engine.stop.cancelled() => return std::future::pending().await,
            () = tokio::time::sleep(INSTALLED_INTERVAL) => {}
        }
    }
    let store = engine.start_store(Source { trim: without_content, ..Source::of(kind) });
    let requests = Arc::new(Requests {
        engine: Arc::clone(engine),
        locations: Arc::clone(locations),
        store,
        operator: format!("{:016x}", backoff::random()),
        turns: Semaphore::new(MAX_AT_WORK),
        readers: Semaphore::new(MAX_AT_WORK),
        queue: Queue::default(),
    });
    tokio::select! {
        biased;
        () = controller::run(&requests, &requests.queue, &engine.metrics, engine.stop.clone()) => {}
        () = requests.queue.watch_objects(requests.store.subscribe()) => {}
    }
    std::future::pending::<()>().await;
}

/// What users write may be large. It is read when the request is answered, and an answer never.
fn without_content(request: &mut Value) {
    let contents =
        [("metadata", "annotations"), ("spec", "question"), ("spec", "requester"), ("status", "answer")];
    for (part, content) in contents {
        if let Some(part) = request.get_mut(part).and_then(Value::as_object_mut) {
            part.remove(content);
        }
    }
    manifest::server_metadata::remove(request.get_mut("metadata"), manifest::server_metadata::OWNERSHIP);
}

impl Reconciler for Requests {
    type Key = Key;
    type Memory = RequestMemory;
    type Signals = ();
    type Error = String;

    const NAME: &'static str = "request";
    const MAX_CONCURRENT_RECONCILES: usize = 100;
    const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));

    fn find(&self, key: &Key) -> Option<Arc<Value>> {
        self.store.get(key)
    }

    async fn reconcile(
        self: &Arc<Self>,
        key: &Key,
        request: Arc<Value>,
        memory: &mut RequestMemory,
    ) -> Result<Action, ReconcileError<String>> {
        let Some(request) = request.as_object() else { return Ok(Action::await_change()) };
        let spec = read::<RequestSpec>(request, "spec");
        let status: RequestStatus = read(request, "status").unwrap_or_default();
        let age = memory.seen.get_or_insert_with(Instant::now).elapsed();
        let lifetime = spec.as_ref().map_or(LONGEST_WAIT, patience) + SLACK;
        let rest = lifetime.saturating_sub(age);
        if rest.is_zero() {
            let target = key.reference(&request_kind());
            let uid = object::uid(request);
            self.engine.client.delete(&target, uid, None, cluster::Propagation::Background).await?;
            return Ok(Action::await_change());
        }
        // The API server checks them, so one that cannot be read is of another version.
        let Ok(spec) = spec else { return Ok(Action::requeue(rest)) };
        let takeovers = match status.state {
            None => 0,
            Some(RequestState::Running) if self.is_abandoned(&status, memory) => {
                status.takeovers.saturating_add(u32::from(status.operator != self.operator))
            }
            Some(RequestState::Running) => return Ok(Action::requeue(rest.min(SILENCE))),
            Some(_) => return Ok(Action::requeue(rest)),
        };
        let taken = RequestStatus { takeovers, ..RequestStatus::default() };
        if takeovers > MAX_TAKEOVERS {
            self.write(request, &refusal(&taken, GIVEN_UP.to_owned()), true).await?;
            return Ok(Action::requeue(rest));
        }
        self.answer(key, request, &spec, &taken, age).await?;
        Ok(Action::requeue(rest.min(OTHERS_FIRST)))
    }
}

/// How long the user waits.
fn patience(spec: &RequestSpec) -> Duration {
    Duration::from_secs(spec.timeout_seconds.into()).min(LONGEST_WAIT)
}

/// `taken`, refused.
fn refusal(taken: &RequestStatus, message: String) -> RequestStatus {
    RequestStatus { state: Some(RequestState::Refused), message, ..taken.clone() }
}

impl Requests {
    /// Whether the copy that has taken up a request no longer works on it.
    fn is_abandoned(&self, status: &RequestStatus, memory: &mut RequestMemory) -> bool {
        if status.operator == self.operator {
            return true;
        }
        match &memory.beat {
            Some((beats, seen)) if *beats == status.beats => seen.elapsed() >= SILENCE,
            _ => {
                memory.beat = Some((status.beats, Instant::now()));
                false
            }
        }
    }

    /// Takes a request up, and answers it while its user waits. `taken` is the part of its status that stays.
    async fn answer(
        &self,
        key: &Key,
        request: &Object,
        spec: &RequestSpec,
        taken: &RequestStatus,
        age: Duration,
    ) -> Result<(), ApiError> {
        let is_others_turn = || age < OTHERS_FIRST;
        if spec.operation == Operation::Inspect && is_others_turn() && !self.is_here(key).await? {
            return Ok(());
        }
        let running = RequestStatus { state: Some(RequestState::Running), ..taken.clone() };
        self.write(request, &running, true).await?;
        let work = async {
            let _turn = self.turns.acquire().await;
            match self.work(key, request).await {
                Ok(answer) => RequestStatus { state: Some(RequestState::Answered), answer, ..taken.clone() },
                Err(Refusal::TooLarge) => {
                    RequestStatus { state: Some(RequestState::TooLarge), ..taken.clone() }
                }
                Err(Refusal::NotHere(message) | Refusal::Refused(message)) => refusal(taken, message),
            }
        };
        let patience = patience(spec);
        let work = tokio::time::timeout(patience.saturating_sub(age), work);
        let beating = async {
            let mut running = running.clone();
            loop {
                tokio::time::sleep(BEAT).await;
                if self.store.get(key).is_none() {
                    // The user has stopped waiting.
                    return;
                }
                running.beats += 1;
                if let Err(error) = self.write(request, &running, false).await {
                    tracing::debug!(request = %key, error = error.text(), "cannot write the status of a request");
                }
            }
        };
        let status = tokio::select! {
            biased;
            done = work => done.unwrap_or_else(|_| {
                let seconds = patience.as_secs();
                refusal(taken, format!("the request was not answered within its timeoutSeconds, {seconds} s"))
            }),
            () = beating => return Ok(()),
        };
        match self.write(request, &status, false).await {
            // The user has stopped waiting.
            Err(error) if error.is_not_found() => Ok(()),
            written => written,
        }
    }

    /// Whether a controller here can record the XR that a request names.
    async fn is_here(&self, key: &Key) -> Result<bool, ApiError> {
        let _turn = self.readers.acquire().await;
        let request = self.engine.client.read(&key.reference(&request_kind())).await?;
        let spec = request.and_then(|request| read::<RequestSpec>(&request, "spec").ok());
        Ok(spec.is_none_or(|spec| inspect::is_here(&self.engine, &spec.question)))
    }

    async fn work(&self, key: &Key, request: &Object) -> Result<String, Refusal> {
        let session = self.engine.client.session();
        let namespace = key.namespace.as_deref().and_then(Namespace::new);
        let namespace = namespace.ok_or_else(|| Refusal::Refused("it is in no namespace".to_owned()))?;
        let Some(since) = identity::certified_since(session, &namespace).await? else {
            return Err(Refusal::Refused(format!(
                "the operator requires the admission policy that verifies requesters: the \
                 ValidatingAdmissionPolicy {} or its binding is missing. Apply deploy/requests.yaml, or run \
                 plimsoll install",
                identity::POLICY
            )));
        };
        if identity::created(request).is_none_or(|created| created <= since) {
            return Err(Refusal::Refused(format!(
                "the request is older than the ValidatingAdmissionPolicy {} or its binding, so its requester is not \
                 verified. Ask again",
                identity::POLICY
            )));
        }
        let uid = object::uid(request).unwrap_or_default();
        let live = self.engine.client.read(&key.reference(&request_kind())).await;
        let live = live.map_err(|error| Refusal::Refused(error.text()))?;
        let live = live.filter(|live| object::uid(live) == Some(uid));
        let spec = live.and_then(|live| read::<RequestSpec>(&live, "spec").ok());
        let spec = spec.ok_or_else(|| Refusal::Refused("the request was deleted".to_owned()))?;
        let rights = Rights::of(&spec.requester, session);
        tracing::info!(user = spec.requester.username, operation = ?spec.operation, request = uid, "answering a request");
        match spec.operation {
            Operation::Plan => {
                let question = unpacked(spec.question, wire::MAX_PLAN_TEXT).await?;
                sealed(&plan::answer(&self.engine, &self.locations, &question, &rights).await?, &spec.key)
            }
            Operation::Inspect => {
                let question = unpacked(spec.question, wire::MAX_INSPECT_TEXT).await?;
                let mut recording = inspect::answer(&self.engine, &question, &rights).await?;
                inspect::fit(&mut recording, |recording| sealed(recording, &spec.key))
            }
        }
    }

    /// Writes the status; when `is_claim`, only if the request has not been written since.
    async fn write(&self, request: &Object, status: &RequestStatus, is_claim: bool) -> Result<(), ApiError> {
        let status = RequestStatus { operator: self.operator.clone(), ..status.clone() };
        let mut intent = composition::composite::identity(request);
        if is_claim {
            object::set_metadata(&mut intent, "resourceVersion", object::resource_version(request));
        }
        intent.insert("status".to_owned(), json!(status));
        let written = self.engine.client.apply_status_to(request, &intent, MANAGER).await?;
        self.store.record_write(Value::Object(written));
        Ok(())
    }
}

fn read<T: DeserializeOwned>(request: &Object, field: &str) -> Result<T, serde_json::Error> {
    T::deserialize(request.get(field).unwrap_or(&Value::Null))
}

/// A question, read where it keeps no other work waiting.
async fn unpacked<T: DeserializeOwned + Send + 'static>(packed: String, limit: usize) -> Result<T, Refusal> {
    let unpacked = tokio::task::spawn_blocking(move || wire::unpack(&packed, limit)).await;
    Ok(unpacked.map_err(io::Error::other).flatten()?)
}

/// An answer, encrypted for the user.
fn sealed(answer: &impl Serialize, key: &str) -> Result<String, Refusal> {
    let packed = wire::compress(answer)?;
    // Base64 has four characters for three bytes.
    if packed.len() > wire::MAX_ANSWER / 4 * 3 {
        return Err(Refusal::TooLarge);
    }
    seal::seal(key, packed).map_err(|_| Refusal::Refused("its key is not a public key".to_owned()))
}

/// Opens the answer to a request.
pub fn open<T: DeserializeOwned>(answer: &str, key: OpeningKey) -> io::Result<T> {
    wire::unpack_answer(&key.open(answer).map_err(io::Error::other)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_copy_is_kept_of_what_users_write() {
        let mut request = json!({
            "metadata": {"name": "a", "uid": "u", "annotations": {"a": "large"}, "managedFields": ["large"]},
            "spec": {
                "operation": "Plan", "key": "k", "timeoutSeconds": 30, "question": "large",
                "requester": {"username": "large"},
            },
            "status": {"state": "Answered", "operator": "o", "beats": 2, "takeovers": 1, "answer": "large"},
        });
        without_content(&mut request);
        assert!(!request.to_string().contains("large"), "{request}");
        let request = request.as_object().unwrap();
        let spec: RequestSpec = read(request, "spec").unwrap();
        assert_eq!((spec.operation, spec.timeout_seconds), (Operation::Plan, 30));
        let status: RequestStatus = read(request, "status").unwrap();
        assert_eq!((status.state, status.takeovers), (Some(RequestState::Answered), 1));
    }
}
