//! Which objects are to be gone over, and when: one pass per object at a time, none forgotten, nobody asked in vain.
//!
//! ```text
//! now, after ──▶ due (earliest first) ──▶ a pass ──▶ Next::In(…) ──▶ due again
//!                      ▲                    │
//!                      └── named meanwhile ─┘──────▶ Next::Idle
//! ```

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::backoff;

/// How long passes in flight may go on after a stop.
const GRACE: Duration = Duration::from_secs(20);
/// The waits after passes over an object that panicked.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(300);
/// As good as never.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 86_400);

/// The objects that are to be gone over, by keys. Clones share them.
pub struct Work<K>(Arc<Shared<K>>);

/// What comes after a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another pass when this much time has passed, or earlier when the key is named.
    In(Duration),
    /// None until the key is named.
    Idle,
}

struct Shared<K> {
    plan: Mutex<Plan<K>>,
    changed: Notify,
}

/// Who is due when, and who is being gone over.
struct Plan<K> {
    entries: HashMap<K, Entry>,
    /// The keys that wait for their time, earliest first; those named first come first.
    line: BTreeMap<Turn, K>,
    named: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    due: Instant,
    number: u64,
}

#[derive(Default)]
struct Entry {
    /// Not in the line while a pass is going on.
    turn: Option<Turn>,
    running: bool,
    /// Whether the pass that is going on has lost its say about the next one.
    forgotten: bool,
    panics: u32,
}

impl<K> Clone for Work<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Clone + Eq + Hash + Send + 'static> Default for Work<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Clone + Eq + Hash + Send + 'static> Work<K> {
    /// Nothing to do yet.
    pub fn new() -> Self {
        let plan = Mutex::new(Plan { entries: HashMap::new(), line: BTreeMap::new(), named: 0 });
        Self(Arc::new(Shared { plan, changed: Notify::new() }))
    }

    /// A pass over `key` is due now; if one is going on, another one right after it.
    pub fn now(&self, key: K) {
        self.after(key, Duration::ZERO);
    }

    /// A pass over `key` is due when `wait` is over. An earlier time that is planned already stays.
    pub fn after(&self, key: K, wait: Duration) {
        self.plan().name(key, in_time(wait));
        self.0.changed.notify_one();
    }

    /// No further pass over `key` is owed, whatever one that is going on says. Naming it again makes one due.
    pub fn forget(&self, key: &K) {
        self.plan().forget(key);
    }

    /// Goes over what is due with `pass`, at most `limit` at a time and one per key, until `stop`; passes in flight
    /// may end then, for a while.
    ///
    /// A pass that panics is logged and due again, ever later. Dropping the future ends all passes at once.
    pub async fn run<F>(
        &self,
        limit: usize,
        stop: CancellationToken,
        pass: impl Fn(K) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Next> + Send + 'static,
    {
        let pass = Arc::new(pass);
        let mut passes = Passes { tasks: JoinSet::new(), keys: HashMap::new() };
        while !stop.is_cancelled() {
            let free = passes.keys.len() < limit.max(1);
            let due = if free { self.plan().first() } else { None };
            if due.is_some_and(|due| due <= Instant::now()) {
                if let Some(key) = self.plan().take() {
                    let pass = Arc::clone(&pass);
                    passes.begin(key.clone(), async move { pass(key).await });
                }
                continue;
            }
            tokio::select! {
                () = stop.cancelled() => {}
                (key, ended) = passes.next() => self.plan().end(key, ended),
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
                () = self.0.changed.notified() => {}
            }
        }
        let rest = async {
            while !passes.keys.is_empty() {
                let (key, ended) = passes.next().await;
                self.plan().end(key, ended);
            }
        };
        if tokio::time::timeout(GRACE, rest).await.is_err() {
            tracing::warn!(passes = passes.keys.len(), "passes that did not end in time are given up");
        }
    }

    fn plan(&self) -> MutexGuard<'_, Plan<K>> {
        self.0.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When `wait` is over. A clock does not reach as far as a duration.
fn in_time(wait: Duration) -> Instant {
    Instant::now() + wait.min(LONGEST_WAIT)
}

/// The passes in flight.
struct Passes<K> {
    tasks: JoinSet<Next>,
    keys: HashMap<Id, K>,
}

impl<K> Passes<K> {
    fn begin(&mut self, key: K, pass: impl Future<Output = Next> + Send + 'static) {
        let task = self.tasks.spawn(pass);
        self.keys.insert(task.id(), key);
    }

    /// The next one to end; never, if there is none.
    async fn next(&mut self) -> (K, Result<Next, JoinError>) {
        loop {
            let (id, ended) = match self.tasks.join_next_with_id().await {
                Some(Ok((id, next))) => (id, Ok(next)),
                Some(Err(error)) => (error.id(), Err(error)),
                None => std::future::pending().await,
            };
            if let Some(key) = self.keys.remove(&id) {
                return (key, ended);
            }
        }
    }
}

impl<K: Clone + Eq + Hash> Plan<K> {
    fn name(&mut self, key: K, due: Instant) {
        let entry = self.entries.entry(key.clone()).or_default();
        entry.forgotten = false;
        if entry.turn.is_some_and(|turn| turn.due <= due) {
            return;
        }
        self.named += 1;
        let turn = Turn { due, number: self.named };
        let earlier = entry.turn.replace(turn);
        if !entry.running {
            earlier.and_then(|earlier| self.line.remove(&earlier));
            self.line.insert(turn, key);
        }
    }

    fn forget(&mut self, key: &K) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.turn.take().and_then(|turn| self.line.remove(&turn));
        entry.forgotten = true;
        if !entry.running {
            self.entries.remove(key);
        }
    }

    /// When the next pass is due.
    fn first(&self) -> Option<Instant> {
        self.line.first_key_value().map(|(turn, _)| turn.due)
    }

    /// The key whose turn it is; its pass begins.
    fn take(&mut self) -> Option<K> {
        let (_, key) = self.line.pop_first()?;
        let entry = self.entries.entry(key.clone()).or_default();
        entry.turn = None;
        entry.running = true;
        Some(key)
    }

    /// A pass over `key` has ended.
    fn end(&mut self, key: K, ended: Result<Next, JoinError>) {
        let entry = self.entries.entry(key.clone()).or_default();
        entry.running = false;
        entry.panics = if ended.is_ok() { 0 } else { entry.panics + 1 };
        let wait = match ended {
            _ if entry.forgotten => None,
            Ok(Next::In(wait)) => Some(wait),
            Ok(Next::Idle) => None,
            Err(error) => {
                let wait = backoff::pause(entry.panics, FIRST_RETRY, LONGEST_RETRY);
                tracing::error!(%error, ?wait, "a pass ended by a panic; it will be tried again");
                Some(wait)
            }
        };
        match (entry.turn, wait) {
            (None, None) => {
                self.entries.remove(&key);
                return;
            }
            // What was named meanwhile takes its place in the line again.
            (Some(turn), _) => {
                self.line.insert(turn, key.clone());
            }
            (None, Some(_)) => {}
        }
        if let Some(wait) = wait {
            self.name(key, in_time(wait));
        }
    }
}

#[cfg(test)]
mod tests;
