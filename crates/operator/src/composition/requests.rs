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
    InspectQuestion, MAX_QUESTION, Named, Operation, PlanQuestion, RequestSpec, RequestState, RequestStatus,
    Requester, pack, request_kind,
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
/// As many requests are worked on at a time: each may be about a hundred XRs.
const MAX_AT_WORK: usize = 4;
/// How long another copy gets that can do what this one cannot.
const OTHERS_FIRST: Duration = Duration::from_secs(3);

/// Answers requests.
pub(super) struct Requests {
    engine: Arc<Engine>,
    locations: Arc<FunctionLocations>,
    store: Store,
    /// How this copy calls itself.
    operator: String,
    /// Limits how many are worked on. The others say that they are taken up, so that their users know that an operator runs.
    turns: Semaphore,
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
    let store = engine.start_store(Source { trim: without_answer, ..Source::of(kind) });
    let requests = Arc::new(Requests {
        engine: Arc::clone(engine),
        locations: Arc::clone(locations),
        store,
        operator: format!("{:016x}", backoff::random()),
        turns: Semaphore::new(MAX_AT_WORK),
        queue: Queue::default(),
    });
    tokio::select! {
        biased;
        () = controller::run(&requests, &requests.queue, &engine.metrics, engine.stop.clone()) => {}
        () = requests.queue.watch_objects(requests.store.subscribe()) => {}
    }
    std::future::pending::<()>().await;
}

/// Nothing reads answers here.
fn without_answer(request: &mut Value) {
    if let Some(status) = request.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("answer");
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
        let Ok(spec) = read::<RequestSpec>(request, "spec") else {
            // The API server checks them, so it is of another version.
            return Ok(Action::await_change());
        };
        let status: RequestStatus = read(request, "status").unwrap_or_default();
        let age = memory.seen.get_or_insert_with(Instant::now).elapsed();
        let lifetime = Duration::from_secs(spec.timeout_seconds.into()).min(LONGEST_WAIT) + SLACK;
        let rest = lifetime.saturating_sub(age);
        if rest.is_zero() {
            let target = key.reference(&request_kind());
            let uid = object::uid(request);
            self.engine.client.delete(&target, uid, None, cluster::Propagation::Background).await?;
            return Ok(Action::await_change());
        }
        let is_free = match status.state {
            None => true,
            Some(RequestState::Running) => self.is_abandoned(&status, memory),
            Some(_) => return Ok(Action::requeue(rest)),
        };
        if !is_free {
            return Ok(Action::requeue(rest.min(SILENCE)));
        }
        self.answer(key, request, &spec, age).await?;
        Ok(Action::requeue(rest.min(OTHERS_FIRST)))
    }
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

    /// Takes a request up, and answers it while its user waits.
    async fn answer(
        &self,
        key: &Key,
        request: &Object,
        spec: &RequestSpec,
        age: Duration,
    ) -> Result<(), ApiError> {
        let is_others_turn = || age < OTHERS_FIRST;
        let work = async {
            let _turn = self.turns.acquire().await;
            match self.work(key, request, spec).await {
                Ok(answer) => {
                    RequestStatus { state: Some(RequestState::Answered), answer, ..RequestStatus::default() }
                }
                Err(Refusal::TooLarge) => {
                    RequestStatus { state: Some(RequestState::TooLarge), ..RequestStatus::default() }
                }
                Err(Refusal::NotHere(message) | Refusal::Refused(message)) => {
                    RequestStatus { state: Some(RequestState::Refused), message, ..RequestStatus::default() }
                }
            }
        };
        if spec.operation == Operation::Inspect
            && is_others_turn()
            && !inspect::is_here(&self.engine, &spec.question)
        {
            return Ok(());
        }
        self.write(
            request,
            &RequestStatus { state: Some(RequestState::Running), ..RequestStatus::default() },
            true,
        )
        .await?;
        let beating = async {
            let mut beats = 0;
            loop {
                tokio::time::sleep(BEAT).await;
                if self.store.get(key).is_none() {
                    // The user has stopped waiting.
                    return;
                }
                beats += 1;
                let state = Some(RequestState::Running);
                let status = RequestStatus { state, beats, ..RequestStatus::default() };
                if let Err(error) = self.write(request, &status, false).await {
                    tracing::debug!(request = %key, error = error.text(), "cannot write the status of a request");
                }
            }
        };
        let status = tokio::select! {
            biased;
            status = work => status,
            () = beating => return Ok(()),
        };
        match self.write(request, &status, false).await {
            // The user has stopped waiting.
            Err(error) if error.is_not_found() => Ok(()),
            written => written,
        }
    }

    async fn work(&self, key: &Key, request: &Object, spec: &RequestSpec) -> Result<String, Refusal> {
        let session = self.engine.client.session();
        let namespace = key.namespace.as_deref().and_then(Namespace::new);
        let namespace = namespace.ok_or_else(|| Refusal::Refused("it is in no namespace".to_owned()))?;
        if !identity::is_certified(session, &namespace).await? {
            return Err(Refusal::Refused(format!(
                "the operator answers only where the API server makes sure who asks: the \
                 ValidatingAdmissionPolicy {} or its binding is missing. Apply deploy/requests.yaml, or run \
                 plimsoll install",
                identity::POLICY
            )));
        }
        let rights = Rights::of(&spec.requester, session);
        let uid = object::uid(request).unwrap_or_default();
        tracing::info!(user = spec.requester.username, operation = ?spec.operation, request = uid, "answering a request");
        match spec.operation {
            Operation::Plan => {
                let question = wire::unpack(&spec.question)?;
                sealed(&plan::answer(&self.engine, &self.locations, &question, &rights).await?, &spec.key)
            }
            Operation::Inspect => {
                let question = wire::unpack(&spec.question)?;
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

/// An answer, encrypted for the user.
fn sealed(answer: &impl Serialize, key: &str) -> Result<String, Refusal> {
    let packed = wire::compress(answer)?;
    // Base64 has four characters for three bytes.
    if packed.len() > wire::MAX_ANSWER / 4 * 3 {
        return Err(Refusal::TooLarge);
    }
    seal::seal(key, packed).map_err(|_| Refusal::Refused("its key is no public key".to_owned()))
}

/// Opens the answer to a request.
pub fn open<T: DeserializeOwned>(answer: &str, key: OpeningKey) -> io::Result<T> {
    wire::decompress(&key.open(answer).map_err(io::Error::other)?)
}
