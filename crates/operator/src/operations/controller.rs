//! The controller of one kind: hears of its objects, goes over each when it is due, and keeps what a pass may forget.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use diag::Diagnostic;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::ResourceExt as _;
use kube::api::Api;
use operations::{CallError, ExternalService, LocalState, Schedule};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::chance::moment;
use super::endpoint::EndpointSecret;
use super::fingerprint::{Fingerprint, is_held};
use super::object::ExternalObject;
use super::pass::{Ending, Pass, PassError, Report};
use super::reached::Reached;
use super::telling::tell;
use crate::backoff;
use crate::events::{Recorder, reference};
use crate::metrics::Metrics;
use crate::said::chain;
use crate::store::{Change, Key, Store};
use crate::work::{Next, Work};

/// How often a pass begins anew with what others made of the object before it is their turn.
const MOST_ATTEMPTS: usize = 3;
/// The waits after passes that the cluster did not let end.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// The way to an object's resource, or what stands in it.
pub type Reach<O, S> = Box<dyn Fn(&O) -> Result<S, CallError> + Send + Sync>;

/// What a controller works with.
pub struct Controller<O, S> {
    /// The cluster.
    pub client: kube::Client,
    /// The objects.
    pub store: Store,
    /// Where a namespace's credentials come from, to look again when they change.
    pub credentials: Option<Store>,
    /// The way to an object's resource, or what stands in it.
    pub reach: Reach<O, S>,
    /// The Secret that says where a resource can be reached.
    pub endpoint: Option<EndpointSecret<O>>,
    /// The intervals.
    pub settings: Schedule,
    /// Who is told of transitions.
    pub recorder: Recorder,
    /// Where calls and operations are counted.
    pub metrics: Metrics,
}

/// A controller that runs, for one term of leadership: what it remembers ends with it.
struct Running<O, S> {
    with: Controller<O, S>,
    work: Work<Key>,
    known: Mutex<HashMap<Key, Known>>,
}

/// What is known of an object beside what is on record.
#[derive(Default)]
struct Known {
    /// What it looked like when it was last gone over.
    seen: Option<Fingerprint>,
    memory: LocalState,
    /// What was said about it that holds on.
    said: Vec<Diagnostic>,
    /// How many passes in a row the cluster did not let end.
    failures: u32,
}

impl<O: ExternalObject, S: ExternalService<Spec = O::Spec> + 'static> Controller<O, S> {
    /// The same, with a Secret that says where a resource can be reached.
    #[must_use]
    pub fn with_endpoint(self, endpoint: EndpointSecret<O>) -> Self {
        Self { endpoint: Some(endpoint), ..self }
    }

    /// Goes over objects, `limit` at a time, until `stop` and the end of the passes that are going on then.
    pub async fn run(self, limit: usize, stop: CancellationToken) {
        let running = Arc::new(Running { with: self, work: Work::new(), known: Mutex::default() });
        let passing = Arc::clone(&running);
        let pass = move |key| {
            let running = Arc::clone(&passing);
            async move { running.pass(key).await }
        };
        tokio::select! {
            () = running.work.run(limit, stop, pass) => {}
            () = running.hear_of_objects() => {}
            () = running.hear_of_credentials() => {}
        }
    }
}

impl<O: ExternalObject, S: ExternalService<Spec = O::Spec> + 'static> Running<O, S> {
    async fn hear_of_objects(&self) {
        let mut changes = self.with.store.subscribe();
        while let Some(change) = changes.recv().await {
            self.hear(&change);
        }
        std::future::pending::<()>().await;
    }

    /// Names the object if there is something new for a pass. What passes write themselves is nothing new.
    fn hear(&self, change: &Change) {
        let Change { key, before, .. } = change;
        // What is there by now is what a pass would see.
        let Some(object) = self.with.store.find(key) else {
            self.work.forget(key);
            if let Some(Known { seen: Some(seen), .. }) = self.known().remove(key) {
                self.with.metrics.operation(S::KIND.name, seen.uid(), None);
            }
            return;
        };
        let held_before = before.as_deref().is_some_and(is_held);
        let seen = self.known().get(key).and_then(|known| known.seen.clone());
        if seen.as_ref() != Some(&Fingerprint::of(&object)) || (held_before && !is_held(&object)) {
            self.work.now(key.clone());
        }
    }

    /// Names every object of a namespace whose credentials changed.
    async fn hear_of_credentials(&self) {
        let Some(credentials) = &self.with.credentials else { return std::future::pending().await };
        let mut changes = credentials.subscribe();
        while let Some(Change { key, before, after }) = changes.recv().await {
            let data = |secret: &Option<Arc<Value>>| secret.as_ref().and_then(|it| it.get("data").cloned());
            if data(&before) == data(&after) {
                continue;
            }
            let objects = self.with.store.all();
            let keys = objects.iter().map(|object| Key::of(object));
            keys.filter(|object| object.namespace == key.namespace).for_each(|key| self.work.now(key));
        }
        std::future::pending::<()>().await;
    }

    async fn pass(&self, key: Key) -> Next {
        let Some(named) = self.with.store.find(&key).map(|object| reference(&object)) else {
            return Next::Idle;
        };
        let namespace = key.namespace.as_deref().unwrap_or_default();
        let api = Api::<O>::namespaced(self.with.client.clone(), namespace);
        for _ in 0..MOST_ATTEMPTS {
            let object = match api.get_opt(&key.name).await {
                Ok(Some(object)) => object,
                Ok(None) => return Next::Idle,
                Err(source) => {
                    let (action, object, source) = ("read", key.to_string(), Box::new(source));
                    return self.fail(&key, &PassError::Cluster { action, object, source });
                }
            };
            let memory = self.begin(&key, &object);
            match self.pass_over(&api, object, memory, &named).await {
                Ok(report) => return self.end(&key, report, &named),
                Err(PassError::Changed { .. }) => {}
                Err(error) => return self.fail(&key, &error),
            }
        }
        Next::In(FIRST_RETRY)
    }

    async fn pass_over(
        &self,
        api: &Api<O>,
        object: O,
        memory: LocalState,
        named: &ObjectReference,
    ) -> Result<Report, PassError> {
        let service = Reached { service: (self.with.reach)(&object), metrics: &self.with.metrics };
        let told = |diagnostic: &Diagnostic| tell(&self.with.recorder, named, diagnostic);
        let pass = Pass {
            api,
            service: &service,
            endpoint: self.with.endpoint.as_ref(),
            settings: &self.with.settings,
            moment: &moment,
            tell: &told,
        };
        Box::pin(pass.over(object, memory)).await
    }

    /// What is remembered of the object, of which a pass begins.
    fn begin(&self, key: &Key, object: &O) -> LocalState {
        let seen = serde_json::to_value(object).map(|object| Fingerprint::of(&object)).ok();
        let mut all = self.known();
        let known = all.entry(key.clone()).or_default();
        let same = known.seen.as_ref().map(Fingerprint::uid) == object.uid().as_deref();
        if !same {
            *known = Known::default();
        }
        known.seen = seen;
        known.memory.clone()
    }

    fn end(&self, key: &Key, report: Report, named: &ObjectReference) -> Next {
        let Report { ending, memory, in_flight, warnings } = report;
        // What has gone meanwhile is not remembered again.
        if let Some(known) = self.known().get_mut(key) {
            if let Some(seen) = &known.seen {
                let in_flight = in_flight.map(|(phase, since)| (phase.as_str(), since));
                self.with.metrics.operation(S::KIND.name, seen.uid(), in_flight);
            }
            let news = warnings.iter().filter(|warning| !known.said.contains(warning));
            news.for_each(|warning| tell(&self.with.recorder, named, warning));
            known.said = warnings;
            known.memory = memory;
            known.failures = 0;
        }
        match ending {
            Ending::Wait(pause) => Next::In(pause),
            Ending::Released(evidence) => {
                tracing::info!(kind = S::KIND.name, object = %key, ?evidence, "let go");
                Next::Idle
            }
        }
    }

    /// The cluster did not let a pass end: it is tried again, and people are not bothered with it.
    fn fail(&self, key: &Key, error: &PassError) -> Next {
        if error.is_gone() {
            return Next::Idle;
        }
        let failures = self.known().get_mut(key).map_or(1, |known| {
            known.failures = known.failures.saturating_add(1);
            known.failures
        });
        let pause = backoff::pause(failures, FIRST_RETRY, LONGEST_RETRY);
        tracing::warn!(kind = S::KIND.name, object = %key, error = chain(error), ?pause, "a pass did not end");
        Next::In(pause)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
