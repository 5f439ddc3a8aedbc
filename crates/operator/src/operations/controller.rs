//! The controller of one kind of cloud resources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use backoff::{Backoff, Jitter};
use diag::{Diagnostic, error_chain};
use futures::future::{BoxFuture, join_all};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::core::DynamicObject;
use operations::{CallError, LocalState, Now, Policy, Schedule};
use oraclecloud::Kind;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::awaited_secrets::AwaitedSecrets;
use super::connected::Connected;
use super::described::Described;
use super::endpoint::EndpointSecret;
use super::events::record;
use super::fingerprint::{Fingerprint, has_finalizer, is_observed};
use super::metrics::CloudMetrics;
use super::object::{gvk, spec};
use super::reconcile::{Finished, Reconcile, Report, StepError};
use super::secrets::Secrets;
use crate::runtime::client::ObjectClient;
use crate::runtime::controller::{self, Action, ReconcileError, Reconciler, goes_first};
use crate::runtime::events::{EventLog, EventType, Recorder, reference};
use crate::runtime::metrics::Metrics;
use crate::runtime::queue::Queue;
use crate::runtime::store::{Change, Key, Store};

const FIRST_RETRY: Duration = Duration::from_secs(1);

/// What the resources of a namespace are reached with, or why they cannot be.
pub(super) type Connect =
    Box<dyn Fn(String) -> BoxFuture<'static, Result<Connected, CallError>> + Send + Sync>;

/// The namespace whose objects a change concerns.
pub(super) type NamespaceOf = fn(&Change) -> Option<String>;

/// Reconciles the objects of one kind, for one term of leadership.
pub(super) struct CloudController {
    pub(super) kind: Kind,
    pub(super) client: ObjectClient,
    pub(super) store: Store,
    /// What concerns all objects of a namespace, such as its credentials.
    pub(super) of_namespaces: Vec<(Store, NamespaceOf)>,
    pub(super) connect: Connect,
    pub(super) endpoint: Option<EndpointSecret>,
    pub(super) settings: Schedule,
    /// When this term of leadership began.
    pub(super) began: Timestamp,
    pub(super) recorder: Recorder,
    pub(super) metrics: Metrics,
    pub(super) counts: Arc<CloudMetrics>,
    pub(super) queue: Queue<Self>,
    pub(super) awaited_secrets: AwaitedSecrets,
}

/// What one reconcile of an object leaves for the next.
#[derive(Default)]
pub(super) struct ExternalMemory {
    decisions: LocalState,
    /// The uid under which an operation in flight is counted.
    counted: Option<String>,
    warnings: EventLog<(EventType, String, String)>,
}

impl CloudController {
    /// Runs until `stop`, and lets running reconciles end.
    pub(super) async fn run(self, stop: CancellationToken) {
        let this = Arc::new(self);
        let of_namespaces = this.of_namespaces.iter().map(|(store, namespace_of)| {
            let concerned =
                |change: &Change| namespace_of(change).map_or_else(Vec::new, |it| this.objects_in(&it));
            this.queue.watch(store.subscribe(), concerned)
        });
        let of_namespaces = join_all(of_namespaces);
        tokio::select! {
            () = controller::run(&this, &this.queue, &this.metrics, stop) => {}
            () = this.watch_objects() => {}
            () = this.awaited_secrets.run(&this.client, |object| this.queue.enqueue_first(object)) => {}
            _ = of_namespaces, if !this.of_namespaces.is_empty() => {}
        }
    }

    /// Enqueues objects with something new for a reconcile, which our own writes are not. What a user has just asked for
    /// goes before everything that is merely due, such as looks for drift; a restart asks for nothing.
    async fn watch_objects(&self) {
        let mut changes = self.store.subscribe();
        while let Some(Change { key, before, .. }) = changes.recv().await {
            // A reconcile would see what is there now.
            let Some(object) = self.store.get(&key) else {
                self.queue.enqueue(key);
                continue;
            };
            let seen = self.queue.signals(&key, |seen| seen.clone());
            let is_changed = seen.as_ref() != Some(&Fingerprint::of(&object));
            let lost_finalizer = before.as_deref().is_some_and(has_finalizer) && !has_finalizer(&object);
            if is_changed && (seen.is_some() || !is_observed(&object)) {
                self.queue.enqueue_first(key);
            } else if is_changed || lost_finalizer {
                self.queue.enqueue(key);
            }
        }
        std::future::pending::<()>().await;
    }

    fn objects_in(&self, namespace: &str) -> Vec<Key> {
        let keys = self.store.keys().into_iter();
        keys.filter(|key| key.namespace.as_deref() == Some(namespace)).collect()
    }

    async fn attempt(
        &self,
        key: &Key,
        object: DynamicObject,
        memory: &mut ExternalMemory,
        regarding: &ObjectReference,
    ) -> Result<Report, StepError> {
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let (client, identity, policy, warnings) = match (self.connect)(namespace.clone()).await {
            Ok(Connected { client, identity, policy, warnings }) => {
                (Ok(client.going_first(goes_first())), Some(identity), policy, warnings)
            }
            Err(error) => (Err(error), None, Policy::default(), Vec::new()),
        };
        let (client, secrets) = match Secrets::read(&self.client, self.kind, &namespace, spec(&object)).await
        {
            Ok(secrets) => (client, secrets),
            Err(error) => {
                let message = format!("cannot read the Secrets that the spec names: {}", error.text());
                (Err(CallError { message, ..CallError::default() }), Secrets::NONE)
            }
        };
        let is_deleting = object.metadata.deletion_timestamp.is_some();
        let unmet = if is_deleting { BTreeMap::new() } else { secrets.unmet(self.kind, spec(&object)) };
        self.awaited_secrets.set(key, unmet);
        let service = Described::new(self.kind, client, &self.metrics).with_secrets(secrets);
        let reconcile = Reconcile {
            kind: self.kind,
            client: &self.client,
            service: &service,
            identity: identity.as_ref(),
            policy: &policy,
            began: self.began,
            endpoint: self.endpoint.as_ref(),
            settings: &self.settings,
            moment: &moment,
            record: &|diagnostic: &Diagnostic| record(&self.recorder, regarding, diagnostic),
        };
        let mut report = Box::pin(reconcile.run(object, &mut memory.decisions)).await?;
        report.warnings.extend(warnings);
        Ok(report)
    }

    fn finished(
        &self,
        key: &Key,
        uid: &str,
        report: Report,
        memory: &mut ExternalMemory,
        regarding: &ObjectReference,
    ) -> Action {
        let Report { finished, in_flight, warnings } = report;
        let in_flight = in_flight.map(|(phase, since)| (phase.as_str(), since));
        self.counts.operation(self.kind.label, uid, in_flight);
        memory.counted = Some(uid.to_owned());
        let warnings = warnings.iter().map(super::events::event).collect();
        for (kind, reason, message) in memory.warnings.update(warnings, &BTreeSet::new()) {
            self.recorder.record(regarding.clone(), kind, &reason, &message);
        }
        match finished {
            Finished::Wait(wait) => Action::requeue(wait),
            Finished::Released(evidence) => {
                tracing::info!(kind = self.kind.decisions.name, object = %key, ?evidence, "finalized");
                Action::await_change()
            }
        }
    }
}

impl Reconciler for CloudController {
    type Key = Key;
    type Memory = ExternalMemory;
    /// What the object looked like when it was last reconciled.
    type Signals = Option<Fingerprint>;
    type Error = String;

    const NAME: &'static str = "Cloud";
    /// Calls are limited per region, for which this is plenty; it bounds the memory that a thousand objects need when
    /// all are due at once.
    const MAX_CONCURRENT_RECONCILES: usize = 12;
    const RESERVED_FOR_CHANGES: usize = 4;
    const BACKOFF: Backoff = Backoff::new(FIRST_RETRY, Duration::from_secs(60));

    fn name(&self) -> &'static str {
        self.kind.label
    }

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
        let target = key.reference(&gvk(self.kind));
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
        let object: DynamicObject =
            serde_json::from_value(object).map_err(|error| format!("cannot read {key}: {error}"))?;
        match self.attempt(key, object, memory, &regarding).await {
            Ok(report) => Ok(self.finished(key, &uid, report, memory, &regarding)),
            Err(StepError::Conflict { .. }) => Err(ReconcileError::Conflict),
            Err(error) if error.is_not_found() => Ok(Action::await_change()),
            Err(error) => Err(error_chain(&error).into()),
        }
    }

    async fn forget(&self, key: &Key, memory: ExternalMemory) {
        self.awaited_secrets.set(key, BTreeMap::new());
        if let Some(uid) = memory.counted {
            self.counts.operation(self.kind.label, &uid, None);
        }
    }
}

fn moment() -> Now {
    Now { time: Timestamp::now(), jitter: Jitter::random() }
}
