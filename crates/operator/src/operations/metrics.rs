//! What the cloud half counts: operations in flight, calls and retries.

use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::runtime::metrics::{Part, Population, count, kept, timed};

/// The metrics of the cloud half.
pub struct CloudMetrics {
    calls: Family<CloudCall, Histogram>,
    retries: Family<OfKind, Counter>,
    operations: Population<Operation, Timestamp>,
    operations_shown: Family<Operation, Gauge>,
    oldest_shown: Family<OfKind, Gauge>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CloudCall {
    operation: &'static str,
    outcome: &'static str,
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

impl Part for CloudMetrics {
    fn register(registry: &mut Registry) -> Self {
        let r = registry;
        Self {
            operations: Population::default(),
            operations_shown: kept(r, "operations_in_flight", "Operations that a provider has not finished"),
            oldest_shown: kept(r, "operation_oldest_seconds", "The age of the oldest operation in flight"),
            calls: timed(r, "cloud_call_seconds", "Duration of calls to a provider"),
            retries: kept(r, "retries", "Reconciles that met a transient error and will be retried"),
        }
    }

    fn show(&self, now: Timestamp) {
        self.operations_shown.clear();
        self.oldest_shown.clear();
        for (operation, since) in self.operations.groups() {
            self.operations_shown.get_or_create(&operation).set(count(since.len()));
            let oldest = since.into_iter().min().unwrap_or(now);
            let age = now.duration_since(oldest).as_secs().max(0);
            let shown = self.oldest_shown.get_or_create(&OfKind { kind: operation.kind });
            shown.set(shown.get().max(age));
        }
    }

    fn clear(&self) {
        self.operations.clear();
    }
}

impl CloudMetrics {
    /// An object of a kind, named as in `queue/Queue`, has an operation of this phase in flight since then, or none.
    pub fn operation(&self, kind: &'static str, uid: &str, flight: Option<(&'static str, Timestamp)>) {
        let flight = flight.map(|(phase, since)| (Operation { kind, phase }, since));
        self.operations.set(uid, flight.into_iter().collect());
    }

    /// A call to a provider ended: `GetQueue`, `ok`.
    pub fn call(&self, operation: &'static str, outcome: &'static str, took: Duration) {
        self.calls.get_or_create(&CloudCall { operation, outcome }).observe(took.as_secs_f64());
    }

    /// A reconcile of an object of a kind met a transient error.
    pub fn retry(&self, kind: &'static str) {
        self.retries.get_or_create(&OfKind { kind }).inc();
    }
}

#[cfg(test)]
mod tests;
