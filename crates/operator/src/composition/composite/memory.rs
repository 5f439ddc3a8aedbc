//! What is remembered of an XR from pass to pass. All of it can be lost: then a few writes and events are repeated.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use composition::event::Event;
use composition::intent::Applied;
use composition::pass::{Fingerprint, Owed, Passes};
use composition::run::Requirements;
use manifest::ObjectRef;
use tokio::time::Instant;

use super::access::Access;
use crate::composition::children::Scope;

/// What is remembered of one XR.
#[derive(Default)]
pub(super) struct Memory {
    /// Whose memory it is: an XR that took the name of another starts afresh.
    pub(super) uid: String,
    /// What passes saw and left.
    pub(super) passes: Passes,
    /// The applies of its children.
    pub(super) applied: HashMap<ObjectRef, Applied>,
    /// The apply of its status.
    pub(super) status: Option<Applied>,
    /// What the last pass had to say; nothing is known of what was said before this process began.
    pub(super) said: Option<BTreeSet<Event>>,
    /// What the functions said last, which holds until they are heard again.
    pub(super) results: BTreeSet<Event>,
    /// What the functions of a revision did wrong, said once.
    pub(super) breaches: (String, BTreeSet<Event>),
    /// Passes that failed in a row.
    pub(super) failures: u32,
    /// Passes in a row that found something not there yet which is probably about to come.
    pub(super) patience: u32,
    /// When another pass is owed although nothing changes.
    pub(super) due: Option<Instant>,
    /// How long the last answers hold.
    pub(super) ttl: Option<Duration>,
    /// What each step asked for last.
    pub(super) required: BTreeMap<String, Requirements>,
    /// Where that is found.
    pub(super) scopes: BTreeSet<Scope>,
    /// Whether what the reference left in managedFields is ours.
    pub(super) taken_over: bool,
    /// Which rights were found missing.
    pub(super) access: Access,
    /// Whether the XR shows that watch events reach it.
    pub(super) responsive: Option<bool>,
}

impl Memory {
    /// Of an XR nobody has gone over yet.
    pub(super) fn of(uid: &str) -> Self {
        Self { uid: uid.to_owned(), ..Self::default() }
    }

    /// Whether a pass is owed now that things look like `current`.
    pub(super) fn owed(&self, current: Fingerprint, now: Instant) -> Owed {
        if self.due.is_some_and(|due| due <= now) {
            return Owed::Now;
        }
        self.passes.owed(current, self.ttl)
    }

    /// How long until the next pass is owed, if one is.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(now))
    }

    /// Sees to it that the next pass is no later than in `wait`.
    pub(super) fn no_later_than(&mut self, now: Instant, wait: Duration) {
        let due = now + wait;
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }
}
