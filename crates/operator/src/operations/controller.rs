//! The controller of one kind of cloud resources.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cluster::Session;
use diag::Diagnostic;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use operations::{CallError, ExternalService, Jitter, LocalState, Now, Schedule};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::endpoint::EndpointSecret;
use super::events::record;
use super::fingerprint::{Fingerprint, has_finalizer};
use super::instrumented::Instrumented;
use super::object::ExternalObject;
use super::reconcile::{Finished, Reconcile, Report, StepError};
use super::run::gvk;
use crate::runtime::backoff::{self, Backoff};
use crate::runtime::client::ObjectClient;
use crate::runtime::controller::{self, Action, ReconcileError, Reconciler};
use crate::runtime::events::{EventLog, EventType, Recorder, reference};
use crate::runtime::metrics::Metrics;
use crate::runtime::queue::Queue;
use crate::runtime::store::{Change, Key, Store};
use diag::error_chain;

/// How often a reconcile starts over when another writer changes the object, before it is requeued.
const MAX_ATTEMPTS: usize = 3;
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// The service that an object's resource is reached through, or why there is none.
pub type Connect<O, S> = Box<dyn Fn(&O) -> Result<S, CallError> + Send + Sync>;

/// Reconciles the objects of one kind, for one term of leadership.
pub struct ExternalController<O: ExternalObject, S: ExternalService<Spec = O::Spec> + 'static> {
    client: ObjectClient,
    store: Store,
    /// The Secrets with the credentials of namespaces; a change concerns all objects of its namespace.
    credentials: Option<Store>,
    connect: Connect<O, S>,
    endpoint: Option<EndpointSecret<O>>,
    settings: Schedule,
    recorder: Recorder,
    metrics: Metrics,
    queue: Queue<Self>,
}

/// What one reconcile of an object leaves for the next.
#[derive(Default)]
pub struct ExternalMemory {
    decisions: LocalState,
    /// The uid under which an operation in flight is counted.
    counted: Option<String>,
    warnings: EventLog<(EventType, String, String)>,
}

impl<O: ExternalObject, S: ExternalService<Spec = O::Spec> + 'static> ExternalController<O, S> {
    pub fn new(
        session: Session,
        store: Store,
        connect: impl Fn(&O) -> Result<S, CallError> + Send + Sync + 'static,
        settings: Schedule,
        recorder: Recorder,
        metrics: Metrics,
    ) -> Self {
        Self {
            client: ObjectClient::new(session),
            store,
            credentials: None,
            connect: Box::new(connect),
            endpoint: None,
            settings,
            recorder,
            metrics,
            queue: Queue::default(),
        }
    }

    /// Reconciles all objects of a namespace when its Secret in `credentials` changes.
    #[must_use]
    pub fn with_credentials(self, credentials: Store) -> Self {
        Self { credentials: Some(credentials), ..self }
    }

    /// Keeps a Secret with the endpoint of each resource.
    #[must_use]
    pub fn with_endpoint(self, endpoint: EndpointSecret<O>) -> Self {
        Self { endpoint: Some(endpoint), ..self }
    }

    /// Runs until `stop`, and lets running reconciles end.
    pub async fn run(self, stop: CancellationToken) {
        let this = Arc::new(self);
        tokio::select! {
            () = controller::run(&this, &this.queue, &this.metrics, stop) => {}
            () = this.queue.watch(this.store.subscribe(), |change| this.changed(change)) => {}
            () = this.watch_credentials() => {}
        }
    }

    /// The object, if there is something new for a reconcile. Our own writes are not.
    fn changed(&self, change: &Change) -> Option<Key> {
        // A reconcile would see what is there now.
        let object = self.store.get(&change.key);
        let is_new = object.is_none_or(|object| {
            let seen = self.queue.signals(&change.key, |seen| seen.clone());
            let had_finalizer = change.before.as_deref().is_some_and(has_finalizer);
            seen.as_ref() != Some(&Fingerprint::of(&object)) || (had_finalizer && !has_finalizer(&object))
        });
        is_new.then(|| change.key.clone())
    }

    async fn watch_credentials(&self) {
        let Some(credentials) = &self.credentials else { return std::future::pending().await };
        let objects_of_namespace = |Change { key, before, after }: &Change| {
            let data = |secret: &Option<Arc<Value>>| secret.as_ref().and_then(|it| it.get("data").cloned());
            let is_changed = data(before) != data(after);
            let objects = if is_changed { self.store.state() } else { Vec::new() };
            let keys = objects.iter().map(|object| Key::of(object));
            keys.filter(|object| object.namespace == key.namespace).collect::<Vec<_>>()
        };
        self.queue.watch(credentials.subscribe(), objects_of_namespace).await;
    }

    async fn attempt(
        &self,
        object: O,
        memory: &ExternalMemory,
        regarding: &ObjectReference,
    ) -> Result<Report, StepError> {
        let service = Instrumented { service: (self.connect)(&object), metrics: &self.metrics };
        let reconcile = Reconcile {
            client: &self.client,
            service: &service,
            endpoint: self.endpoint.as_ref(),
            settings: &self.settings,
            moment: &moment,
            record: &|diagnostic: &Diagnostic| record(&self.recorder, regarding, diagnostic),
        };
        Box::pin(reconcile.run(object, memory.decisions.clone())).await
    }

    fn finished(
        &self,
        key: &Key,
        uid: &str,
        report: Report,
        memory: &mut ExternalMemory,
        regarding: &ObjectReference,
    ) -> Action {
        let Report { finished, in_flight, warnings, memory: decisions } = report;
        let in_flight = in_flight.map(|(phase, since)| (phase.as_str(), since));
        self.metrics.operation(S::KIND.name, uid, in_flight);
        memory.counted = Some(uid.to_owned());
        memory.decisions = decisions;
        let warnings = warnings.iter().map(super::events::event).collect();
        for (kind, reason, message) in memory.warnings.update(warnings, &BTreeSet::new()) {
            self.recorder.record(regarding.clone(), kind, &reason, &message);
        }
        match finished {
            Finished::Wait(wait) => Action::requeue(wait),
            Finished::Released(evidence) => {
                tracing::info!(kind = S::KIND.name, object = %key, ?evidence, "finalized");
                Action::await_change()
            }
        }
    }
}

impl<O: ExternalObject, S: ExternalService<Spec = O::Spec> + 'static> Reconciler
    for ExternalController<O, S>
{
    type Key = Key;
    type Memory = ExternalMemory;
    /// What the object looked like when it was last reconciled.
    type Signals = Option<Fingerprint>;
    type Error = String;

    const NAME: &'static str = S::KIND.name;
    /// Calls are limited per region, for which this is plenty; it bounds the memory that a thousand objects need when
    /// all are due at once.
    const MAX_CONCURRENT_RECONCILES: usize = 12;
    const BACKOFF: Backoff = Backoff::new(FIRST_RETRY, Duration::from_secs(60));

    fn find(&self, key: &Key) -> Option<Arc<Value>> {
        self.store.get(key)
    }

    async fn reconcile(
        self: &Arc<Self>,
        key: &Key,
        object: Arc<Value>,
        memory: &mut ExternalMemory,
    ) -> Result<Action, ReconcileError<String>> {
        let Some(regarding) = object.as_object().map(reference) else { return Ok(Action::await_change()) };
        let target = key.reference(&gvk::<O>());
        for _ in 0..MAX_ATTEMPTS {
            // The store keeps little of each object, and a decision must not be made on an old one.
            let read = self
                .client
                .read(&target)
                .await
                .map_err(|error| format!("cannot read {key}: {}", error.text()))?;
            let Some(object) = read else { return Ok(Action::await_change()) };
            let object = Value::Object(object);
            let seen = Fingerprint::of(&object);
            let uid = seen.uid().to_owned();
            if regarding.uid.as_ref() != Some(&uid) {
                // Another object took the name, and the store does not have it yet.
                return Ok(Action::requeue(FIRST_RETRY));
            }
            self.queue.signals(key, |signals| *signals = Some(seen));
            let object: O =
                serde_json::from_value(object).map_err(|error| format!("cannot read {key}: {error}"))?;
            match self.attempt(object, memory, &regarding).await {
                Ok(report) => return Ok(self.finished(key, &uid, report, memory, &regarding)),
                Err(StepError::Conflict { .. }) => {}
                Err(error) if error.is_not_found() => return Ok(Action::await_change()),
                Err(error) => return Err(error_chain(&error).into()),
            }
        }
        Ok(Action::requeue(FIRST_RETRY))
    }

    async fn forget(&self, _key: &Key, memory: ExternalMemory) {
        if let Some(uid) = memory.counted {
            self.metrics.operation(S::KIND.name, &uid, None);
        }
    }
}

fn moment() -> Now {
    Now { time: Timestamp::now(), jitter: Jitter::new(backoff::fraction()) }
}
