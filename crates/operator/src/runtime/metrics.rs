//! Metrics for Prometheus: those of the runtime, and a place for those of what runs on it. Labels have few values: kinds,
//! functions and reasons, never objects.

mod population;

use std::any::Any;
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

pub(crate) use population::Population;

/// The format of [`Metrics::text`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// In seconds, from a call on this machine to one that reached its deadline.
const BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

/// The metrics of the operator. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Mutex<Registry>,
    parts: Mutex<Vec<Arc<dyn Part>>>,
    leading: Gauge,
    reconciles: Family<Reconcile, Histogram>,
    queues: Mutex<Vec<(&'static str, Depth)>>,
    queues_shown: Family<OfController, Gauge>,
    events_lost: Family<OfLoss, Counter>,
    reconcile_panics: Family<OfController, Counter>,
    controller_panics: Family<OfController, Counter>,
}

/// What a part of the operator counts for itself.
pub trait Part: Any + Send + Sync {
    /// Adds its metrics.
    fn register(registry: &mut Registry) -> Self
    where
        Self: Sized;

    /// Brings gauges up to date before they are read.
    fn show(&self, now: Timestamp);

    /// Forgets what is known of objects: a term of leadership has ended, and another copy counts them.
    fn clear(&self);
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
        Self(Arc::new(Inner {
            leading: kept(r, "leader", "Whether this copy of the operator runs controllers"),
            reconciles: timed(r, "reconcile_seconds", "Duration of reconciles"),
            queues: Mutex::default(),
            queues_shown: kept(
                r,
                "queue_depth",
                "Objects that are due for a reconcile and wait for their turn",
            ),
            events_lost: kept(r, "events_lost", "Events that did not reach the API server, by reason"),
            reconcile_panics: kept(r, "reconcile_panics", "Reconciles that panicked and will be retried"),
            controller_panics: kept(
                r,
                "controller_panics",
                "Panics of controllers and stores, which were restarted",
            ),
            registry: Mutex::new(registry),
            parts: Mutex::default(),
        }))
    }

    /// The metrics of one part, which are registered when it first asks for them.
    pub fn part<P: Part>(&self) -> Arc<P> {
        let mut parts = lock(&self.0.parts);
        for part in parts.iter() {
            let part: Arc<dyn Any + Send + Sync> = Arc::clone(part) as _;
            if let Ok(found) = part.downcast() {
                return found;
            }
        }
        let part = Arc::new(P::register(&mut lock(&self.0.registry)));
        parts.push(Arc::clone(&part) as _);
        part
    }

    /// A reconcile of this controller ended.
    pub fn reconciled(&self, controller: &'static str, outcome: &'static str, took: Duration) {
        self.0.reconciles.get_or_create(&Reconcile { controller, outcome }).observe(took.as_secs_f64());
    }

    /// Shows the depth of a queue of this controller, as long as there is one.
    pub fn queue(&self, controller: &'static str, depth: impl Fn() -> Option<usize> + Send + Sync + 'static) {
        lock(&self.0.queues).push((controller, Box::new(depth)));
    }

    /// A reconcile of this controller panicked.
    pub fn reconcile_panicked(&self, controller: &'static str) {
        self.0.reconcile_panics.get_or_create(&OfController { controller }).inc();
    }

    /// A controller panicked outside of its reconciles.
    pub fn controller_panicked(&self, controller: &'static str) {
        self.0.controller_panics.get_or_create(&OfController { controller }).inc();
    }

    pub fn event_lost(&self, loss: Loss) {
        self.0.events_lost.get_or_create(&OfLoss { reason: loss.as_str() }).inc();
    }

    /// A term of leadership begins or ends. What is known of objects ends with it: another copy counts them then.
    pub(crate) fn leading(&self, leads: bool) {
        self.0.leading.set(leads.into());
        if !leads {
            lock(&self.0.parts).iter().for_each(|part| part.clear());
        }
    }

    /// All metrics in OpenMetrics text.
    pub fn text(&self, now: Timestamp) -> String {
        self.show_queues();
        lock(&self.0.parts).iter().for_each(|part| part.show(now));
        let mut text = String::new();
        encode(&mut text, &lock(&self.0.registry)).expect("writing to a String cannot fail");
        text
    }

    fn show_queues(&self) {
        self.0.queues_shown.clear();
        lock(&self.0.queues).retain(|(controller, depth)| {
            let depth = depth();
            if let Some(depth) = depth {
                // One controller may have several queues, for instance one for each XRD.
                self.0.queues_shown.get_or_create(&OfController { controller }).inc_by(count(depth));
            }
            depth.is_some()
        });
    }
}

/// A metric that is shown as it is.
pub(crate) fn kept<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, about: &str) -> M {
    let metric = M::default();
    registry.register(name, about, metric.clone());
    metric
}

/// A histogram of durations.
pub(crate) fn timed<L>(registry: &mut Registry, name: &str, about: &str) -> Family<L, Histogram>
where
    L: Clone + Debug + Eq + Hash + EncodeLabelSet + Send + Sync + 'static,
{
    let family = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
    registry.register(name, about, family.clone());
    family
}

/// A number of members as gauges have it.
pub(crate) fn count(members: usize) -> i64 {
    i64::try_from(members).unwrap_or(i64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
