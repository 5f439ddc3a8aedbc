//! A circuit breaker on watch events: of a constant stream of changes, only some reach the XR.
//!
//! The numbers are Crossplane's. Unlike there, no change is lost: when the breaker closes after having held events back,
//! the XR is reconciled once more. Times are durations since some fixed moment, by a clock that is never set: a clock that
//! is set back must not keep a breaker open.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;

use crate::condition::{Condition, RESPONSIVE};
use crate::protocol::ConditionStatus;

/// How much is too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Tokens at most; an update takes two, so half as many updates pass at once.
    pub burst: f64,
    /// Tokens that come back each second.
    pub refill_per_second: f64,
    /// How long the breaker stays open.
    pub cooldown: Duration,
    /// How often an event passes while it is open.
    pub probe_every: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            burst: 100.0,
            refill_per_second: 1.0,
            cooldown: Duration::from_secs(300),
            probe_every: Duration::from_secs(30),
        }
    }
}

/// What a watch event reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An object was created, or is seen for the first time.
    Created,
    /// An object changed.
    Updated,
    /// An object is being deleted or is gone: always admitted, or a finalizer could wait forever.
    Deleted,
}

/// The breaker of one XR.
#[derive(Clone, Debug, PartialEq)]
pub struct Breaker {
    limits: Limits,
    tokens: f64,
    refilled: Duration,
    /// The last sources, newest last.
    recent: VecDeque<String>,
    open: Option<Open>,
}

#[derive(Clone, Debug, PartialEq)]
struct Open {
    since: Duration,
    last_passed: Duration,
    source: String,
    held_back: bool,
}

const REMEMBERED_SOURCES: usize = 16;

impl Breaker {
    /// A breaker with all its tokens.
    pub fn new(limits: Limits, now: Duration) -> Self {
        Self { limits, tokens: limits.burst, refilled: now, recent: VecDeque::new(), open: None }
    }

    /// Whether an event from `source`, such as `ConfigMap shop/web`, reaches the XR.
    pub fn admits(&mut self, source: &str, change: Change, now: Duration) -> bool {
        let cost = match change {
            Change::Deleted => return true,
            Change::Created => 1,
            // Crossplane's handler runs for the old and the new object.
            Change::Updated => 2,
        };
        self.refill(now);
        for _ in 0..cost {
            self.remember(source);
        }
        if let Some(open) = &mut self.open {
            if now < open.since + self.limits.cooldown {
                let probe = now > open.last_passed + self.limits.probe_every;
                if probe {
                    open.last_passed = now;
                } else {
                    open.held_back = true;
                }
                return probe;
            }
            self.close();
            self.remember(source);
        }
        for _ in 0..cost {
            if self.tokens >= 1.0 {
                self.tokens -= 1.0;
            } else if self.open.is_none() {
                let source = self.loudest();
                self.open = Some(Open { since: now, last_passed: now, source, held_back: false });
            }
        }
        // The event that opens the breaker still passes.
        true
    }

    /// Closes the breaker if its time has come; returns whether it held events back, so that a reconcile is due.
    pub fn tick(&mut self, now: Duration) -> bool {
        match &self.open {
            Some(open) if now >= open.since + self.limits.cooldown => {
                let owed = open.held_back;
                self.close();
                owed
            }
            _ => false,
        }
    }

    /// When [`tick`](Self::tick) has something to do.
    pub fn closes_at(&self) -> Option<Duration> {
        self.open.as_ref().map(|open| open.since + self.limits.cooldown)
    }

    /// The XR's `Responsive` condition.
    pub fn condition(&self, now: Timestamp) -> Condition {
        match &self.open {
            None => Condition::new(RESPONSIVE, ConditionStatus::True, "WatchCircuitClosed", now),
            Some(open) => Condition::new(RESPONSIVE, ConditionStatus::False, "WatchCircuitOpen", now)
                .message(format!(
                    "Too many watch events from {}. Allowing events periodically.",
                    open.source
                )),
        }
    }

    fn refill(&mut self, now: Duration) {
        let elapsed = now.saturating_sub(self.refilled).as_secs_f64();
        self.tokens = (self.tokens + elapsed * self.limits.refill_per_second).min(self.limits.burst);
        self.refilled = self.refilled.max(now);
    }

    fn close(&mut self) {
        self.open = None;
        self.recent.clear();
    }

    fn remember(&mut self, source: &str) {
        if self.recent.len() == REMEMBERED_SOURCES {
            self.recent.pop_front();
        }
        self.recent.push_back(source.to_owned());
    }

    /// The source of most of the last events; of equals, the first by name.
    fn loudest(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for source in &self.recent {
            *counts.entry(source).or_default() += 1;
        }
        let loudest = counts.into_iter().rev().max_by_key(|(_, count)| *count);
        loudest.map(|(source, _)| source.to_owned()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
