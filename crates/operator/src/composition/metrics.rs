//! What the composition half counts: XRs and claims by their conditions, and calls of functions.

use std::time::Duration;

use composition::condition::{Conditions, HEALTHY, READY, SYNCED};
use composition::protocol::Object;
use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::runtime::metrics::{Part, Population, count, kept, timed};

/// The metrics of the composition half.
pub struct CompositionMetrics {
    function_calls: Family<FunctionCall, Histogram>,
    function_waiting: Family<OfFunction, Gauge>,
    pub(crate) claims: Standings,
    pub(crate) composites: Standings,
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

/// A condition of an XR or a claim.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Standing {
    pub xrd: String,
    /// `Ready`, `Synced` or `Healthy`
    pub condition: &'static str,
    pub status: &'static str,
    pub reason: String,
}

/// Objects by the status and reason of each condition.
pub struct Standings {
    objects: Population<Standing, ()>,
    shown: Family<Standing, Gauge>,
}

impl Part for CompositionMetrics {
    fn register(registry: &mut Registry) -> Self {
        let r = registry;
        Self {
            claims: Standings::register(r, "claims", "Claims by status and reason of each condition"),
            composites: Standings::register(r, "composites", "XRs by status and reason of each condition"),
            function_calls: timed(
                r,
                "function_call_seconds",
                "Duration of calls to functions, without the wait for a turn",
            ),
            function_waiting: kept(
                r,
                "function_calls_waiting",
                "Calls that wait because their function is at its limit of concurrent calls",
            ),
        }
    }

    fn show(&self, _now: Timestamp) {
        self.claims.show();
        self.composites.show();
    }

    fn clear(&self) {
        self.claims.objects.clear();
        self.composites.objects.clear();
    }
}

impl CompositionMetrics {
    /// A call to a function ended.
    pub fn function_call(&self, function: &str, outcome: &'static str, took: Duration) {
        let call = FunctionCall { function: function.to_owned(), outcome };
        self.function_calls.get_or_create(&call).observe(took.as_secs_f64());
    }

    /// So many calls of a function wait for their turn.
    pub fn function_waiting(&self, function: &str, waiting: usize) {
        let function = OfFunction { function: function.to_owned() };
        self.function_waiting.get_or_create(&function).set(count(waiting));
    }

    /// A claim has these conditions; without any, it is gone.
    pub fn claim(&self, uid: &str, conditions: Vec<Standing>) {
        self.claims.set(uid, conditions);
    }

    /// An XR has these conditions; without any, it is gone.
    pub fn composite(&self, uid: &str, conditions: Vec<Standing>) {
        self.composites.set(uid, conditions);
    }
}

impl Standings {
    fn register(registry: &mut Registry, name: &str, about: &str) -> Self {
        Self { objects: Population::default(), shown: kept(registry, name, about) }
    }

    fn set(&self, uid: &str, conditions: Vec<Standing>) {
        self.objects.set(uid, conditions.into_iter().map(|condition| (condition, ())).collect());
    }

    /// Counts an object of `xrd` by the engine's conditions. Those that functions set are not counted: there may be any
    /// number of them. The uid under which it is counted.
    pub(crate) fn count(&self, xrd: &str, object: &Object) -> Option<String> {
        let uid = composition::object::uid(object)?;
        let conditions = Conditions::of(object);
        let standing = |condition: &'static str| {
            let found = conditions.get(condition)?;
            let (status, reason) = (found.status.as_str(), found.reason.clone());
            Some(Standing { xrd: xrd.to_owned(), condition, status, reason })
        };
        self.set(uid, [READY, SYNCED, HEALTHY].into_iter().filter_map(standing).collect());
        Some(uid.to_owned())
    }

    pub(crate) fn forget(&self, uid: &str) {
        self.set(uid, Vec::new());
    }

    fn show(&self) {
        self.shown.clear();
        for (standing, members) in self.objects.groups() {
            self.shown.get_or_create(&standing).set(count(members.len()));
        }
    }
}

#[cfg(test)]
mod tests;
