//! Where functions are found: by flag, annotation or package; and whether annotated ones can be reached.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use backoff::Backoff;
use composition::RunError;
use composition::condition::{Condition, Conditions};
use composition::function::{self, ANNOTATION_ENDPOINT, Location};
use composition::object;
use composition::protocol::{ConditionStatus, Object};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

use super::MANAGER;
use super::engine::Engine;
use crate::runtime::controller::{Action, ReconcileError, Reconciler};
use crate::runtime::queue::Queue;
use crate::runtime::store::{Change, Key, Store};

/// The label on a FunctionRevision with the name of its Function.
const LABEL_PACKAGE: &str = "pkg.crossplane.io/package";
/// How long connecting to an annotated function may take before it counts as unhealthy.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const HEALTHY_INTERVAL: Duration = Duration::from_secs(30);
const UNHEALTHY_INTERVAL: Duration = Duration::from_secs(2);

/// Where functions are found, by flags and objects.
pub(super) struct FunctionLocations {
    flags: BTreeMap<String, String>,
    objects: RwLock<Objects>,
    moves: watch::Sender<u64>,
}

#[derive(Default)]
struct Objects {
    revisions: Arc<Vec<Object>>,
    functions: Vec<Object>,
}

impl FunctionLocations {
    /// `flags` take precedence over objects.
    pub(super) fn new(flags: BTreeMap<String, String>) -> Self {
        Self { flags, objects: RwLock::default(), moves: watch::Sender::new(0) }
    }

    pub(super) fn locate(&self, name: &str) -> Result<Location, RunError> {
        let found = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        function::find(name, &self.flags, &found.revisions, &found.functions)
    }

    pub(super) fn revisions(&self) -> Arc<Vec<Object>> {
        Arc::clone(&self.objects.read().unwrap_or_else(PoisonError::into_inner).revisions)
    }

    /// Changes whenever a function may be found at another place than before.
    pub(super) fn moves(&self) -> watch::Receiver<u64> {
        self.moves.subscribe()
    }

    pub(super) fn update(&self, revisions: &Store, functions: &Store) {
        let objects = |store: &Store| -> Vec<Object> {
            store.state().filter_map(|object| object.as_object().cloned()).collect()
        };
        {
            let mut found = self.objects.write().unwrap_or_else(PoisonError::into_inner);
            *found = Objects { revisions: Arc::new(objects(revisions)), functions: objects(functions) };
        }
        self.moves.send_modify(|moves| *moves += 1);
    }
}

/// The Functions that a changed FunctionRevision is or was of.
pub(super) fn packages(change: &Change) -> Vec<String> {
    let package = |revision| object::label(revision, LABEL_PACKAGE).map(str::to_owned);
    let mut packages: Vec<String> = change.sides().filter_map(package).collect();
    packages.dedup();
    packages
}

/// Reports on annotated Functions whether they can be reached.
///
/// Crossplane's package manager reports on the Functions it installs; nothing else reports on annotated ones.
pub(super) struct FunctionHealth {
    engine: Arc<Engine>,
    functions: Store,
    pub(super) queue: Queue<Self>,
}

impl FunctionHealth {
    pub(super) fn new(engine: Arc<Engine>, functions: Store) -> Self {
        Self { engine, functions, queue: Queue::default() }
    }
}

impl Reconciler for FunctionHealth {
    type Key = String;
    type Memory = ();
    type Signals = ();
    type Error = String;

    const NAME: &'static str = "function";
    const MAX_CONCURRENT_RECONCILES: usize = 16;
    const BACKOFF: Backoff = Backoff::new(UNHEALTHY_INTERVAL, HEALTHY_INTERVAL);

    fn find(&self, name: &String) -> Option<Arc<Value>> {
        self.functions.get(&Key::cluster_scoped(name))
    }

    async fn reconcile(
        self: &Arc<Self>,
        name: &String,
        function: Arc<Value>,
        _memory: &mut (),
    ) -> Result<Action, ReconcileError<String>> {
        let function = function.as_object().filter(|function| self.engine.shard.selects(function));
        let endpoint = function.and_then(|function| object::annotation(function, ANNOTATION_ENDPOINT));
        let (Some(function), Some(endpoint)) = (function, endpoint) else {
            return Ok(Action::await_change());
        };
        let reachable = self.engine.functions.reachable(name);
        let error = match tokio::time::timeout(CONNECT_TIMEOUT, reachable).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.message),
            Err(_) => Some(format!("no connection to {endpoint} within {} s", CONNECT_TIMEOUT.as_secs())),
        };
        if let Some(reported) = report(function, error.as_deref(), self.engine.clock.now()) {
            self.engine.client.replace_status(&reported, MANAGER).await?;
        }
        Ok(Action::requeue(if error.is_none() { HEALTHY_INTERVAL } else { UNHEALTHY_INTERVAL }))
    }
}

/// The Function with its conditions, if they have changed.
fn report(function: &Object, error: Option<&str>, now: Timestamp) -> Option<Object> {
    let generation = object::generation(function);
    let before = Conditions::of(function);
    let mut conditions = before.clone();
    let installed = Condition::new("Installed", ConditionStatus::True, "ActivePackageRevision", now).message(
        format!("called at the endpoint in the annotation {ANNOTATION_ENDPOINT}; no package is installed"),
    );
    conditions.set(installed.generation(generation));
    let healthy = match error {
        None => Condition::new("Healthy", ConditionStatus::True, "HealthyPackageRevision", now),
        Some(why) => {
            Condition::new("Healthy", ConditionStatus::False, "UnhealthyPackageRevision", now).message(why)
        }
    };
    conditions.set(healthy.generation(generation));
    (conditions != before).then(|| {
        let mut reported = function.clone();
        object::nested_mut(&mut reported, &["status"]).insert("conditions".to_owned(), conditions.to_value());
        reported
    })
}

#[cfg(test)]
mod tests;
