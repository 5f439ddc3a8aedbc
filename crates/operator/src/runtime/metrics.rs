//! Metrics for Prometheus. Labels have few values: kinds, functions and reasons, never objects.

mod population;

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use population::Population;

/// The format of [`Metrics::text`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// In seconds, from a call on this machine to one that reached its deadline.
const BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

/// The metrics of the operator. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    leading: Gauge,
    cloud_calls: Family<CloudCall, Histogram>,
    function_calls: Family<FunctionCall, Histogram>,
    function_waiting: Family<OfFunction, Gauge>,
    retries: Family<OfKind, Counter>,
    operations: Population<Operation, Timestamp>,
    operations_shown: Family<Operation, Gauge>,
    oldest_shown: Family<OfKind, Gauge>,
    claims: Population<Standing, ()>,
    claims_shown: Family<Standing, Gauge>,
    composites: Population<Standing, ()>,
    composites_shown: Family<Standing, Gauge>,
    reconciles: Family<Reconcile, Histogram>,
    queues: Mutex<Vec<(&'static str, Depth)>>,
    queues_shown: Family<OfController, Gauge>,
    events_lost: Family<OfLoss, Counter>,
    reconcile_panics: Family<OfController, Counter>,
    controller_panics: Family<OfController, Counter>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CloudCall {
    operation: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FunctionCall {
    function: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfFunction {
    function: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfKind {
    kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Operation {
    kind: &'static str,
    phase: &'static str,
}

/// A condition of an XR or a claim.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Standing {
    pub xrd: String,
    /// `Ready`, `Synced` or `Healthy`
    pub condition: &'static str,
    pub status: &'static str,
    pub reason: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Reconcile {
    controller: &'static str,
    outcome: &'static str,
}

/// How many keys of a queue are due and wait; nothing if the queue is gone.
type Depth = Box<dyn Fn() -> Option<usize> + Send + Sync>;

/// Why an Event never reached the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// Too many were pending.
    TooMany,
    Refused,
    /// The API server did not answer for too long.
    NoAnswer,
    /// The operator stopped.
    Ending,
}

impl Loss {
    const fn as_str(self) -> &'static str {
        match self {
            Self::TooMany => "too-many",
            Self::Refused => "refused",
            Self::NoAnswer => "no-answer",
            Self::Ending => "ending",
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfController {
    controller: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfLoss {
    reason: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("plimsoll");
        let r = &mut registry;
        let inner = Inner {
            leading: kept(r, "leader", "Whether this copy of the operator runs controllers"),
            operations: Population::default(),
            operations_shown: kept(r, "operations_in_flight", "Operations that a provider has not finished"),
            oldest_shown: kept(r, "operation_oldest_seconds", "The age of the oldest operation in flight"),
            cloud_calls: timed(r, "cloud_call_seconds", "Duration of calls to a provider"),
            retries: kept(r, "retries", "Reconciles that met a transient error and will be retried"),
            claims: Population::default(),
            claims_shown: kept(r, "claims", "Claims by status and reason of each condition"),
            composites: Population::default(),
            composites_shown: kept(r, "composites", "XRs by status and reason of each condition"),
            reconciles: timed(r, "reconcile_seconds", "Duration of reconciles"),
            queues: Mutex::default(),
            queues_shown: kept(
                r,
                "queue_depth",
                "Objects that are due for a reconcile and wait for their turn",
            ),
            events_lost: kept(r, "events_lost", "Events that did not reach the API server, by reason"),
            function_calls: timed(
                r,
                "function_call_seconds",
                "Duration of calls to functions, including the wait for a turn",
            ),
            function_waiting: kept(
                r,
                "function_calls_waiting",
                "Calls that wait because their function is at its limit of concurrent calls",
            ),
            reconcile_panics: kept(r, "reconcile_panics", "Reconciles that panicked and will be retried"),
            controller_panics: kept(r, "controller_panics", "Controllers that panicked and were restarted"),
            registry,
        };
        Self(Arc::new(inner))
    }

    /// An object of a kind has an operation of this phase in flight since then, or none.
    pub fn operation(&self, kind: &'static str, uid: &str, flight: Option<(&'static str, Timestamp)>) {
        let flight = flight.map(|(phase, since)| (Operation { kind, phase }, since));
        self.0.operations.set(uid, flight.into_iter().collect());
    }

    /// A call to a provider ended: `GetQueue`, `ok`.
    pub fn cloud_call(&self, operation: &'static str, outcome: &'static str, took: Duration) {
        self.0.cloud_calls.get_or_create(&CloudCall { operation, outcome }).observe(took.as_secs_f64());
    }

    /// A reconcile of an object of a kind met a transient error.
    pub fn retry(&self, kind: &'static str) {
        self.0.retries.get_or_create(&OfKind { kind }).inc();
    }

    /// A claim has these conditions; without any, it is gone.
    pub fn claim(&self, uid: &str, conditions: Vec<Standing>) {
        self.0.claims.set(uid, conditions.into_iter().map(|condition| (condition, ())).collect());
    }

    /// An XR has these conditions; without any, it is gone.
    pub fn composite(&self, uid: &str, conditions: Vec<Standing>) {
        self.0.composites.set(uid, conditions.into_iter().map(|condition| (condition, ())).collect());
    }

    /// A reconcile of this controller ended.
    pub fn reconciled(&self, controller: &'static str, outcome: &'static str, took: Duration) {
        self.0.reconciles.get_or_create(&Reconcile { controller, outcome }).observe(took.as_secs_f64());
    }

    /// Shows the depth of a queue of this controller, as long as there is one.
    pub fn queue(&self, controller: &'static str, depth: impl Fn() -> Option<usize> + Send + Sync + 'static) {
        self.queues().push((controller, Box::new(depth)));
    }

    fn queues(&self) -> MutexGuard<'_, Vec<(&'static str, Depth)>> {
        self.0.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call to a function ended.
    pub fn function_call(&self, function: &str, outcome: &'static str, took: Duration) {
        let call = FunctionCall { function: function.to_owned(), outcome };
        self.0.function_calls.get_or_create(&call).observe(took.as_secs_f64());
    }

    /// So many calls of a function wait for their turn.
    pub fn function_waiting(&self, function: &str, waiting: usize) {
        let function = OfFunction { function: function.to_owned() };
        self.0.function_waiting.get_or_create(&function).set(count(waiting));
    }

    /// A reconcile of this controller panicked.
    pub fn reconcile_panicked(&self, controller: &'static str) {
        self.0.reconcile_panics.get_or_create(&OfController { controller }).inc();
    }

    /// A controller panicked outside of its reconciles.
    pub(crate) fn controller_panicked(&self, controller: &'static str) {
        self.0.controller_panics.get_or_create(&OfController { controller }).inc();
    }

    pub fn event_lost(&self, loss: Loss) {
        self.0.events_lost.get_or_create(&OfLoss { reason: loss.as_str() }).inc();
    }

    /// A term of leadership begins or ends. What is known of objects ends with it: another copy counts them then.
    pub(crate) fn leading(&self, leads: bool) {
        self.0.leading.set(leads.into());
        if !leads {
            self.forget_operations();
            self.forget_composites();
        }
    }

    /// Nothing is known of operations in flight, because no controller follows them.
    pub(crate) fn forget_operations(&self) {
        self.0.operations.clear();
    }

    /// Nothing is known of XRs and claims, because no controller follows them.
    pub(crate) fn forget_composites(&self) {
        self.0.claims.clear();
        self.0.composites.clear();
    }

    /// All metrics in OpenMetrics text.
    pub fn text(&self, now: Timestamp) -> String {
        self.show_operations(now);
        self.show_queues();
        for (shown, population) in
            [(&self.0.claims_shown, &self.0.claims), (&self.0.composites_shown, &self.0.composites)]
        {
            shown.clear();
            for (standing, members) in population.groups() {
                shown.get_or_create(&standing).set(count(members.len()));
            }
        }
        let mut text = String::new();
        encode(&mut text, &self.0.registry).expect("writing to a String cannot fail");
        text
    }

    fn show_queues(&self) {
        self.0.queues_shown.clear();
        self.queues().retain(|(controller, depth)| {
            let depth = depth();
            if let Some(depth) = depth {
                // One controller may have several queues, for instance one for each XRD.
                self.0.queues_shown.get_or_create(&OfController { controller }).inc_by(count(depth));
            }
            depth.is_some()
        });
    }

    fn show_operations(&self, now: Timestamp) {
        self.0.operations_shown.clear();
        self.0.oldest_shown.clear();
        for (operation, since) in self.0.operations.groups() {
            self.0.operations_shown.get_or_create(&operation).set(count(since.len()));
            let oldest = since.into_iter().min().unwrap_or(now);
            let age = now.duration_since(oldest).as_secs().max(0);
            let shown = self.0.oldest_shown.get_or_create(&OfKind { kind: operation.kind });
            shown.set(shown.get().max(age));
        }
    }
}

fn kept<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, about: &str) -> M {
    let metric = M::default();
    registry.register(name, about, metric.clone());
    metric
}

fn timed<L>(registry: &mut Registry, name: &str, about: &str) -> Family<L, Histogram>
where
    L: Clone + Debug + Eq + Hash + EncodeLabelSet + Send + Sync + 'static,
{
    let family = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
    registry.register(name, about, family.clone());
    family
}

fn count(members: usize) -> i64 {
    i64::try_from(members).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
