//! Faults on order: what goes wrong with the n-th call of an operation, or with a share of all calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::route::Operation;

/// A fault: which call, and what happens to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// Which operation.
    pub operation: Operation,
    /// Which of its calls, counted from 1, whoever makes them. Calls with a bad signature do not count.
    pub nth: u32,
    /// How many calls in a row.
    #[serde(default = "once")]
    pub times: u32,
    /// What happens.
    pub mishap: Mishap,
}

fn once() -> u32 {
    1
}

/// What happens to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mishap {
    /// It is refused and has no effect.
    #[serde(rename_all = "camelCase")]
    Refuse {
        /// The HTTP status.
        status: u16,
        /// The service's word.
        code: String,
        /// `Retry-After`, in seconds.
        #[serde(default)]
        retry_after: Option<u64>,
    },
    /// The connection is reset and it has no effect.
    ResetBefore,
    /// It has its effect, and then the connection is reset: what a crash in between looks like.
    ResetAfter,
    /// It has its effect, and the answer takes this many milliseconds.
    SlowMillis(u64),
    /// It has its effect, and the answer ends halfway.
    Truncate,
    /// It has its effect, and a page of a proxy comes back, with this status.
    Html(u16),
    /// It has its effect, and this comes back as body.
    Body(String),
    /// It has its effect, and these headers are missing.
    WithoutHeaders(Vec<String>),
}

impl Mishap {
    /// Whether the call still does what it is for.
    pub(crate) const fn has_effect(&self) -> bool {
        !matches!(self, Self::Refuse { .. } | Self::ResetBefore)
    }
}

/// The faults that are on order. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Plan>>);

#[derive(Debug, Default)]
struct Plan {
    orders: Vec<Fault>,
    calls: BTreeMap<Operation, u32>,
    weather: Option<Weather>,
}

/// A share of all calls goes wrong, and which ones follows from the seed.
#[derive(Clone, Copy, Debug)]
struct Weather {
    percent: u32,
    state: u64,
}

impl Faults {
    /// Orders a fault; counted from the calls that were made since the server started.
    pub fn order(&self, fault: Fault) {
        self.with(|plan| plan.orders.push(fault));
    }

    /// Orders a fault for the next call of an operation.
    pub fn next(&self, operation: Operation, mishap: Mishap) {
        self.with(|plan| {
            let nth = plan.calls.get(&operation).copied().unwrap_or(0) + 1;
            plan.orders.push(Fault { operation, nth, times: 1, mishap });
        });
    }

    /// Lets this share of all calls meet 429, 500, a reset before or after the effect, or a slow answer.
    pub fn weather(&self, percent: u32, seed: u64) {
        self.with(|plan| plan.weather = (percent > 0).then_some(Weather { percent, state: seed }));
    }

    /// Takes back everything that is on order.
    pub fn clear(&self) {
        self.with(|plan| {
            plan.orders.clear();
            plan.weather = None;
        });
    }

    /// What happens to a call that has just come in.
    pub(crate) fn befall(&self, operation: Operation) -> Option<Mishap> {
        self.with(|plan| {
            let count = plan.calls.entry(operation).or_default();
            *count += 1;
            let count = *count;
            let ordered = plan.orders.iter().find(|fault| {
                fault.operation == operation && count >= fault.nth && count - fault.nth < fault.times
            });
            match ordered {
                Some(fault) => Some(fault.mishap.clone()),
                None => plan.weather.as_mut()?.mishap(),
            }
        })
    }

    fn with<T>(&self, f: impl FnOnce(&mut Plan) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Weather {
    fn mishap(&mut self) -> Option<Mishap> {
        if self.random(100) >= u64::from(self.percent) {
            return None;
        }
        let refuse =
            |status, code: &str, retry_after| Mishap::Refuse { status, code: code.to_owned(), retry_after };
        Some(match self.random(5) {
            0 => refuse(429, "TooManyRequests", Some(1)),
            1 => refuse(500, "InternalServerError", None),
            2 => Mishap::ResetBefore,
            3 => Mishap::ResetAfter,
            _ => Mishap::SlowMillis(500),
        })
    }

    /// SplitMix64: small, even, and the same for the same seed.
    fn random(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_meets_the_calls_it_is_ordered_for() {
        let faults = Faults::default();
        faults.order(Fault { operation: Operation::GetQueue, nth: 2, times: 2, mishap: Mishap::Truncate });
        let met: Vec<bool> = (0..5).map(|_| faults.befall(Operation::GetQueue).is_some()).collect();
        assert_eq!(met, [false, true, true, false, false]);
        assert_eq!(faults.befall(Operation::CreateQueue), None);
        faults.next(Operation::GetQueue, Mishap::ResetAfter);
        assert_eq!(faults.befall(Operation::GetQueue), Some(Mishap::ResetAfter));
        assert_eq!(faults.befall(Operation::GetQueue), None);
    }

    #[test]
    fn bad_weather_is_the_same_for_the_same_seed_and_about_as_bad_as_ordered() {
        let run = |seed: u64| {
            let faults = Faults::default();
            faults.weather(5, seed);
            (0..10_000).map(|_| faults.befall(Operation::GetQueue)).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let met = run(1).iter().flatten().count();
        assert!((400..600).contains(&met), "{met}");
    }
}
