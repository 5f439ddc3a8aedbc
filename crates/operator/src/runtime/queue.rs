//! The keys of one controller: when each is due for a reconcile, and what is remembered of each.
//!
//! ```text
//! enqueue ──▶ due (earliest first) ──▶ reconcile ──▶ Action::requeue(…) ──▶ due again
//!                    ▲                     │
//!                    └─ enqueued meanwhile ┘───────▶ Action::await_change()
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::controller::{Action, Reconciler};
use super::store::{Change, Changes, Key};

/// Effectively never; an `Instant` cannot represent every `Duration`.
const MAX_WAIT: Duration = Duration::from_secs(365 * 86_400);

/// The keys of one controller. Clones share them.
pub struct Queue<R: Reconciler>(Arc<Shared<R>>);

struct Shared<R: Reconciler> {
    state: Mutex<State<R>>,
    changed: Notify,
}

struct State<R: Reconciler> {
    entries: BTreeMap<R::Key, Entry<R>>,
    /// The keys that are scheduled and not running: priority keys first, then the others by due time and by the order in
    /// which they were enqueued.
    line: BTreeMap<Turn, R::Key>,
    enqueued: u64,
    has_begun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    /// Not a priority key; priority keys are always due.
    is_ordinary: bool,
    due: Instant,
    number: u64,
}

/// Everything that is known of one key. It lives until the object is gone.
struct Entry<R: Reconciler> {
    /// Not in the line while a reconcile is running.
    scheduled: Option<Turn>,
    is_running: bool,
    /// What the last reconcile left; the one that is running has it.
    attempt: Attempt<R>,
    /// Failures in a row, also while a reconcile is running.
    failures: u32,
    signals: R::Signals,
}

/// What one reconcile of a key hands to the next.
pub(super) struct Attempt<R: Reconciler> {
    /// Of the object that `memory` is about.
    pub(super) uid: String,
    pub(super) memory: R::Memory,
    /// Failures in a row.
    pub(super) failures: u32,
    /// Conflicts in a row.
    pub(super) conflicts: u32,
}

impl<R: Reconciler> Default for Attempt<R> {
    fn default() -> Self {
        Self { uid: String::new(), memory: R::Memory::default(), failures: 0, conflicts: 0 }
    }
}

impl<R: Reconciler> Default for Entry<R> {
    fn default() -> Self {
        Self {
            scheduled: None,
            is_running: false,
            attempt: Attempt::default(),
            failures: 0,
            signals: R::Signals::default(),
        }
    }
}

impl<R: Reconciler> Clone for Queue<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R: Reconciler> Default for Queue<R> {
    fn default() -> Self {
        let state = State { entries: BTreeMap::new(), line: BTreeMap::new(), enqueued: 0, has_begun: false };
        Self(Arc::new(Shared { state: Mutex::new(state), changed: Notify::new() }))
    }
}

impl<R: Reconciler> Queue<R> {
    /// Makes `key` due now; if it is being reconciled, right after that.
    pub fn enqueue(&self, key: R::Key) {
        self.enqueue_after(key, Duration::ZERO);
    }

    /// Makes `key` due after `wait`. If it is due earlier already, that stays.
    pub fn enqueue_after(&self, key: R::Key, wait: Duration) {
        self.state().schedule(key, deadline(wait), true);
        self.0.changed.notify_one();
    }

    /// Makes `key` due now, ahead of ordinary keys; if it is being reconciled, right after that.
    pub(crate) fn enqueue_first(&self, key: R::Key) {
        self.state().schedule(key, Instant::now(), false);
        self.0.changed.notify_one();
    }

    /// Enqueues what `keys` returns for the changes that are there already.
    pub(crate) fn drain<K: IntoIterator<Item = R::Key>>(
        &self,
        changes: &mut Changes,
        keys: impl Fn(&Change) -> K,
    ) {
        while let Some(change) = changes.try_recv() {
            keys(&change).into_iter().for_each(|key| self.enqueue(key));
        }
    }

    /// Enqueues what `keys` returns for each change. Never returns.
    pub(crate) async fn watch<K: IntoIterator<Item = R::Key>>(
        &self,
        mut changes: Changes,
        keys: impl Fn(&Change) -> K,
    ) {
        while let Some(change) = changes.recv().await {
            keys(&change).into_iter().for_each(|key| self.enqueue(key));
        }
        std::future::pending::<()>().await;
    }

    /// Enqueues the object of each change; first, if a user has just asked for something. Never returns.
    pub(crate) async fn watch_objects(&self, mut changes: Changes)
    where
        R: Reconciler<Key = Key>,
    {
        while let Some(change) = changes.recv().await {
            if change.is_request() { self.enqueue_first(change.key) } else { self.enqueue(change.key) }
        }
        std::future::pending::<()>().await;
    }

    /// Reads or changes what watches note about `key`.
    pub(crate) fn signals<T>(&self, key: &R::Key, access: impl FnOnce(&mut R::Signals) -> T) -> T {
        access(&mut self.state().entry(key).signals)
    }

    /// The keys whose signals fit.
    pub(crate) fn keys_where(&self, fits: impl Fn(&R::Signals) -> bool) -> Vec<R::Key> {
        self.keys(|entry| fits(&entry.signals))
    }

    /// The keys whose last reconcile failed.
    pub(crate) fn failing(&self) -> Vec<R::Key> {
        self.keys(|entry| entry.failures > 0)
    }

    fn keys(&self, fits: impl Fn(&Entry<R>) -> bool) -> Vec<R::Key> {
        self.state().entries.iter().filter(|(_, entry)| fits(entry)).map(|(key, _)| key.clone()).collect()
    }

    pub(super) fn failures(&self, key: &R::Key) -> u32 {
        self.state().entries.get(key).map_or(0, |entry| entry.failures)
    }

    /// How many keys are due and wait, as long as the queue exists.
    pub(super) fn depth(&self) -> impl Fn() -> Option<usize> + Send + Sync + use<R> {
        let shared = Arc::downgrade(&self.0);
        move || {
            let shared = shared.upgrade()?;
            let state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            Some(state.line.keys().filter(|turn| !turn.is_ordinary || turn.due <= now).count())
        }
    }

    /// A loop begins. What was being reconciled when the one before it panicked is due; whether there was none before.
    pub(super) fn begin(&self) -> bool {
        let mut state = self.state();
        let is_first = !std::mem::replace(&mut state.has_begun, true);
        let running = state.entries.iter_mut().filter(|(_, entry)| entry.is_running);
        let interrupted: Vec<R::Key> = running
            .map(|(key, entry)| {
                (entry.is_running, entry.scheduled) = (false, None);
                key.clone()
            })
            .collect();
        for key in interrupted {
            state.schedule(key, Instant::now(), true);
        }
        is_first
    }

    /// Waits until something was enqueued.
    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Whether a priority key is next.
    pub(super) fn has_first(&self) -> bool {
        self.state().line.first_key_value().is_some_and(|(turn, _)| !turn.is_ordinary)
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.state().line.first_key_value().map(|(turn, _)| turn.due)
    }

    /// The first key in line, and what the last reconcile of it left.
    pub(super) fn start_next(&self) -> Option<(R::Key, Attempt<R>)> {
        let mut state = self.state();
        let (_, key) = state.line.pop_first()?;
        let entry = state.entry(&key);
        entry.scheduled = None;
        entry.is_running = true;
        Some((key, std::mem::take(&mut entry.attempt)))
    }

    /// A reconcile of `key` has ended.
    pub(super) fn finish(&self, key: R::Key, attempt: Attempt<R>, action: Action) {
        let mut state = self.state();
        let entry = state.entry(&key);
        entry.is_running = false;
        entry.failures = attempt.failures;
        entry.attempt = attempt;
        // What was enqueued meanwhile takes its place in the line again.
        if let Some(turn) = entry.scheduled {
            state.line.insert(turn, key.clone());
        }
        if let Some(wait) = action.requeue_after() {
            state.schedule(key, deadline(wait), true);
        }
    }

    /// The object of `key` is gone, and nothing is remembered of it.
    pub(super) fn finish_gone(&self, key: &R::Key) {
        let mut state = self.state();
        if let Some(Entry { scheduled: Some(turn), .. }) = state.entries.remove(key) {
            // There may be another one by now.
            state.schedule(key.clone(), turn.due, turn.is_ordinary);
        }
    }

    fn state(&self) -> MutexGuard<'_, State<R>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Reconciler> State<R> {
    /// Most calls find the entry, and need no copy of the key.
    fn entry(&mut self, key: &R::Key) -> &mut Entry<R> {
        if !self.entries.contains_key(key) {
            self.entries.insert(key.clone(), Entry::default());
        }
        self.entries.get_mut(key).expect("it was just inserted")
    }

    fn schedule(&mut self, key: R::Key, due: Instant, is_ordinary: bool) {
        let turn = Turn { is_ordinary, due, number: self.enqueued + 1 };
        let entry = self.entry(&key);
        if entry.scheduled.is_some_and(|before| (before.is_ordinary, before.due) <= (is_ordinary, due)) {
            return;
        }
        let later = entry.scheduled.replace(turn);
        let is_running = entry.is_running;
        self.enqueued = turn.number;
        if !is_running {
            later.and_then(|later| self.line.remove(&later));
            self.line.insert(turn, key);
        }
    }
}

fn deadline(wait: Duration) -> Instant {
    Instant::now() + wait.min(MAX_WAIT)
}
