//! Fault injection: into the n-th call of an operation, or into a share of all calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use crate::lock;
use crate::route::Operation;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    pub operation: Operation,
    /// The first call it affects, counted from 1 over all clients. Calls with a bad signature do not count.
    pub nth: u32,
    /// The number of consecutive calls it affects.
    #[serde(default = "once")]
    pub times: u32,
    #[serde(rename = "mishap")]
    pub kind: FaultKind,
}

fn once() -> u32 {
    1
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FaultKind {
    /// The call is refused and has no effect.
    #[serde(rename_all = "camelCase")]
    Refuse {
        status: u16,
        code: String,
        /// `Retry-After`, in seconds.
        #[serde(default)]
        retry_after: Option<u64>,
    },
    /// The connection is reset and the call has no effect.
    ResetBefore,
    /// The call takes effect, then the connection is reset, as in a crash.
    ResetAfter,
    /// The call takes effect, and the response is delayed by this many milliseconds.
    SlowMillis(u64),
    /// The call takes effect, and the response ends halfway.
    Truncate,
    /// The call takes effect, and the response is an HTML page of a proxy, with this status.
    Html(u16),
    /// The call takes effect, and the response has this body.
    Body(String),
    /// The call takes effect, and the response lacks these headers.
    WithoutHeaders(Vec<String>),
}

impl FaultKind {
    /// Whether the call still takes effect.
    pub(crate) const fn has_effect(&self) -> bool {
        !matches!(self, Self::Refuse { .. } | Self::ResetBefore)
    }
}

/// The faults to inject. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Plan>>);

#[derive(Debug, Default)]
struct Plan {
    faults: Vec<Fault>,
    calls: BTreeMap<Operation, u32>,
    random: Option<RandomFaults>,
}

/// Faults in a share of all calls, determined by a seed.
#[derive(Debug)]
struct RandomFaults {
    percent: u32,
    random: fastrand::Rng,
}

impl Faults {
    /// Injects a fault. Calls count from the start of the server.
    pub fn inject(&self, fault: Fault) {
        lock(&self.0).faults.push(fault);
    }

    /// Injects a fault into the next call of an operation.
    pub fn inject_next(&self, operation: Operation, kind: FaultKind) {
        let mut plan = lock(&self.0);
        let nth = plan.calls.get(&operation).copied().unwrap_or(0) + 1;
        plan.faults.push(Fault { operation, nth, times: 1, kind });
    }

    /// Makes this share of all calls fail: 429, 500, a reset before or after the effect, or a slow response.
    pub fn inject_randomly(&self, percent: u32, seed: u64) {
        lock(&self.0).random =
            (percent > 0).then(|| RandomFaults { percent, random: fastrand::Rng::with_seed(seed) });
    }

    /// Removes all faults.
    pub fn clear(&self) {
        let mut plan = lock(&self.0);
        plan.faults.clear();
        plan.random = None;
    }

    /// Counts a call; returns the fault to inject into it.
    pub(crate) fn next_call(&self, operation: Operation) -> Option<FaultKind> {
        let mut plan = lock(&self.0);
        let count = plan.calls.entry(operation).or_default();
        *count += 1;
        let count = *count;
        let fault = plan.faults.iter().find(|fault| {
            fault.operation == operation && count >= fault.nth && count - fault.nth < fault.times
        });
        match fault {
            Some(fault) => Some(fault.kind.clone()),
            None => plan.random.as_mut()?.next(),
        }
    }
}

impl RandomFaults {
    fn next(&mut self) -> Option<FaultKind> {
        if self.random.u32(..100) >= self.percent {
            return None;
        }
        let refuse = |status, code: &str, retry_after| FaultKind::Refuse {
            status,
            code: code.to_owned(),
            retry_after,
        };
        Some(match self.random.u32(..5) {
            0 => refuse(429, "TooManyRequests", Some(1)),
            1 => refuse(500, "InternalServerError", None),
            2 => FaultKind::ResetBefore,
            3 => FaultKind::ResetAfter,
            _ => FaultKind::SlowMillis(500),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_affects_the_chosen_calls() {
        let faults = Faults::default();
        faults.inject(Fault { operation: Operation::GetQueue, nth: 2, times: 2, kind: FaultKind::Truncate });
        let affected: Vec<bool> = (0..5).map(|_| faults.next_call(Operation::GetQueue).is_some()).collect();
        assert_eq!(affected, [false, true, true, false, false]);
        assert_eq!(faults.next_call(Operation::CreateQueue), None);
        faults.inject_next(Operation::GetQueue, FaultKind::ResetAfter);
        assert_eq!(faults.next_call(Operation::GetQueue), Some(FaultKind::ResetAfter));
        assert_eq!(faults.next_call(Operation::GetQueue), None);
    }

    #[test]
    fn random_faults_are_reproducible_and_have_the_requested_share() {
        let run = |seed: u64| {
            let faults = Faults::default();
            faults.inject_randomly(5, seed);
            (0..10_000).map(|_| faults.next_call(Operation::GetQueue)).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let affected = run(1).iter().flatten().count();
        assert!((400..600).contains(&affected), "{affected}");
    }
}
