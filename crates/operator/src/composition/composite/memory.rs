//! What is kept of an XR from one reconcile to the next.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use backoff::Jitter;
use composition::breaker::Breaker;
use composition::event::Event;
use composition::intent::Applied;
use composition::pipeline::Outcome;
use composition::protocol::Requirements;
use composition::requeue::{Due, Fingerprint, History};
use composition::selection::Awaited;
use manifest::ObjectRef;
use tokio::time::Instant;

use super::permissions::Permissions;
use crate::composition::recording::WantedRecordings;
use crate::composition::watches::Scope;
use crate::runtime::events::EventLog;

/// What watches note about an XR.
#[derive(Default)]
pub(super) struct XrSignals {
    /// Limits reconciles that are caused by watch events; made with the first of them.
    pub(super) breaker: Option<Breaker>,
    /// Whether to reconcile even if nothing has changed.
    pub(super) is_forced: bool,
    /// The resource versions of our own last writes to composed resources, by uid; their watch events are skipped.
    pub(super) written: HashMap<String, String>,
    /// When a change beside the status of a resource last enqueued the XR.
    pub(super) last_urgent: Option<Instant>,
    /// The function that was down in the last reconcile.
    pub(super) awaited_function: Option<String>,
    /// Users wait for a recording of the next pass.
    pub(super) recordings: WantedRecordings,
}

/// What one reconcile of an XR leaves for the next.
#[derive(Default)]
pub(super) struct XrMemory {
    /// What earlier reconciles saw and left.
    pub(super) history: History,
    /// The last applies of composed resources.
    pub(super) applied: HashMap<ObjectRef, Applied>,
    /// The last apply of the status.
    pub(super) status: Option<Applied>,
    pub(super) events: EventLog<Event>,
    /// The Events for the functions' last results, which hold until all functions have run again.
    pub(super) results: BTreeSet<Event>,
    /// Warnings about functions of a revision, each recorded once.
    pub(super) breaches: (String, BTreeSet<Event>),
    /// How often reconciles in a row have waited for what is probably about to appear.
    pub(super) grace_periods: BTreeMap<Awaited, u32>,
    /// When to reconcile even if nothing changes.
    pub(super) due: Option<Instant>,
    /// How long the last answers of the functions hold.
    pub(super) ttl: Option<Duration>,
    /// What each step of the pipeline required last.
    pub(super) required: BTreeMap<String, Requirements>,
    /// The scopes of what was required.
    pub(super) scopes: BTreeSet<Scope>,
    /// Whether the fields that Crossplane owned by updates have been taken over.
    pub(super) taken_over: bool,
    pub(super) permissions: Permissions,
    /// The condition Responsive, as it was last written.
    pub(super) responsive: Option<bool>,
    /// The uid under which it is counted.
    pub(super) counted: Option<String>,
    /// What the functions returned last, if another writer kept it from being written.
    pub(super) unwritten: Option<Unwritten>,
}

/// What functions returned for one observed state: for the same state they are not called again.
pub(super) struct Unwritten {
    pub(super) observed: Fingerprint,
    pub(super) returned: Instant,
    pub(super) outcome: Outcome,
}

impl Unwritten {
    /// Whether the answers hold for what is `observed` now.
    pub(super) fn holds(&self, observed: Fingerprint) -> bool {
        self.observed == observed && self.outcome.ttl.is_none_or(|ttl| self.returned.elapsed() < ttl)
    }
}

impl XrMemory {
    /// Whether to wait, a few times, before reporting that something is missing.
    pub(super) fn grants_grace(&mut self, awaited: Awaited) -> bool {
        const MAX_GRACE_PERIODS: u32 = 4;
        let waited = self.grace_periods.entry(awaited).or_default();
        *waited += 1;
        *waited <= MAX_GRACE_PERIODS
    }

    /// Whether to reconcile now that everything looks like `current`.
    pub(super) fn owed(&self, current: Fingerprint, now: Instant) -> Due {
        if self.due.is_some_and(|due| due <= now) {
            return Due::Now;
        }
        self.history.due(current, self.ttl, Jitter::random())
    }

    /// How long until `due`.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(now))
    }

    pub(super) fn due_within(&mut self, now: Instant, wait: Duration) {
        let due = now + wait;
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }
}
