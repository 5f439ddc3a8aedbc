//! The loop of every controller: it reconciles what is due, keeps the memory of each object, and retries failures.
//!
//! A [`Reconciler`] says how one object is reconciled. The loop owns the rest: one reconcile per key at a time, what is
//! remembered of a key from one to the next, the backoff of a key that fails, and panics.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use backoff::{Backoff, Jitter};
use serde_json::Value;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::client::ApiError;
use super::metrics::Metrics;
use super::queue::{Attempt, Queue};
use super::store::uid;

/// How long running reconciles may take to end after a stop.
pub(super) const GRACE: Duration = Duration::from_secs(20);
/// How soon a key whose object was changed by another writer is reconciled again. The first conflict is probably the last;
/// a writer that is always ahead must not cause a reconcile for each of its writes.
const AFTER_CONFLICT: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));
const AFTER_PANIC: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(300));

tokio::task_local! {
    /// Whether the running reconcile is for a key that goes first.
    pub(super) static GOES_FIRST: bool;
    /// How long a server has asked the running reconcile to wait before it tries again.
    static ASKED_TO_WAIT: Cell<Duration>;
}

/// The longest wait that a server can ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(300);

/// A server asks to wait for so long: a reconcile that fails is not repeated before.
pub(super) fn asked_to_wait(wait: Duration) {
    // Outside of a reconcile there is nothing to repeat.
    let _outside = ASKED_TO_WAIT.try_with(|asked| asked.set(asked.get().max(wait.min(LONGEST_ASKED))));
}

/// Whether this is called by a reconcile whose key goes before those that are merely due.
pub(crate) fn goes_first() -> bool {
    GOES_FIRST.try_with(|goes_first| *goes_first).unwrap_or_default()
}

/// Reconciles the objects of one kind.
pub trait Reconciler: Send + Sync + Sized + 'static {
    type Key: Clone + Ord + Display + Send + Sync + 'static;
    /// What one reconcile of an object leaves for the next. Any of it may be lost at any time, with a restart or a
    /// panic; a few writes and Events are repeated then. An object that took the name of another starts afresh.
    type Memory: Default + Send + 'static;
    /// What watches note about an object, also while it is being reconciled.
    type Signals: Default + Send + 'static;
    type Error: Display + Send;

    const NAME: &'static str;
    const MAX_CONCURRENT_RECONCILES: usize;
    /// How many more may run at once for priority keys, so that slow reconciles do not delay them.
    const RESERVED_FOR_CHANGES: usize = 0;
    const BACKOFF: Backoff;

    /// Its name in logs and metrics; one reconciler may serve several kinds.
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// The object as the store has it.
    fn find(&self, key: &Self::Key) -> Option<Arc<Value>>;

    /// Brings the cluster or the cloud closer to what `object` desires, as far as possible now.
    fn reconcile(
        self: &Arc<Self>,
        key: &Self::Key,
        object: Arc<Value>,
        memory: &mut Self::Memory,
    ) -> impl Future<Output = Result<Action, ReconcileError<Self::Error>>> + Send;

    /// Decides what follows a reconcile that failed or met a conflict; `retry_after` is the backoff.
    fn on_failure(&self, _key: &Self::Key, _memory: &mut Self::Memory, retry_after: Duration) -> Action {
        Action::requeue(retry_after)
    }

    /// The object is gone, or another one has taken its name; drops what was kept for it.
    fn forget(&self, _key: &Self::Key, _memory: Self::Memory) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// What follows a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    requeue_after: Option<Duration>,
    is_skip: bool,
}

impl Action {
    /// Reconcile again after this time, or earlier if the key is enqueued.
    pub const fn requeue(after: Duration) -> Self {
        Self { requeue_after: Some(after), is_skip: false }
    }

    /// Do nothing until the key is enqueued.
    pub const fn await_change() -> Self {
        Self { requeue_after: None, is_skip: false }
    }

    /// The same, but nothing was due yet: it says nothing about earlier failures and conflicts.
    pub(crate) const fn skipped(self) -> Self {
        Self { is_skip: true, ..self }
    }

    /// Whether nothing was due yet.
    pub(crate) const fn is_skip(self) -> bool {
        self.is_skip
    }

    pub(super) const fn requeue_after(self) -> Option<Duration> {
        self.requeue_after
    }
}

/// Why a reconcile ended early.
#[derive(Debug)]
pub enum ReconcileError<E> {
    /// Another writer changed the object first. The next reconcile sees what it wrote; nothing has failed.
    Conflict,
    Failed(E),
}

impl<E> From<E> for ReconcileError<E> {
    fn from(error: E) -> Self {
        Self::Failed(error)
    }
}

impl From<ApiError> for ReconcileError<String> {
    fn from(error: ApiError) -> Self {
        if error.is_conflict() { Self::Conflict } else { Self::Failed(error.text()) }
    }
}

/// Reconciles whatever is due, each key once at a time, until `stop`; running reconciles may then end, within a limit.
///
/// Dropping the future ends all reconciles at once.
pub async fn run<R: Reconciler>(
    reconciler: &Arc<R>,
    queue: &Queue<R>,
    metrics: &Metrics,
    stop: CancellationToken,
) {
    let mut running = Running { tasks: JoinSet::new(), keys: HashMap::new() };
    if queue.begin() {
        metrics.queue(reconciler.name(), queue.depth());
    }
    while !stop.is_cancelled() {
        let reserved = if queue.has_first() { R::RESERVED_FOR_CHANGES } else { 0 };
        let is_free = running.keys.len() < R::MAX_CONCURRENT_RECONCILES + reserved;
        let due = if is_free { queue.next_due() } else { None };
        if due.is_some_and(|due| due <= Instant::now()) {
            let goes_first = queue.has_first();
            if let Some((key, attempt)) = queue.start_next() {
                running.start(Arc::clone(reconciler), key, attempt, goes_first);
            }
            continue;
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            (key, took, ended) = running.next() => {
                finish(reconciler.name(), queue, metrics, key, took, ended);
            }
            () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            () = queue.changed() => {}
        }
    }
    let rest = async {
        while !running.keys.is_empty() {
            let (key, took, ended) = running.next().await;
            finish(reconciler.name(), queue, metrics, key, took, ended);
        }
    };
    if tokio::time::timeout(GRACE, rest).await.is_err() {
        tracing::warn!(
            controller = reconciler.name(),
            reconciles = running.keys.len(),
            "abandoned reconciles that did not end in time"
        );
    }
}

/// A reconcile that ended: what is remembered and what follows, or nothing if the object is gone.
type Ended<R> = Option<(Attempt<R>, Action)>;

fn finish<R: Reconciler>(
    name: &'static str,
    queue: &Queue<R>,
    metrics: &Metrics,
    key: R::Key,
    took: Duration,
    ended: Result<Ended<R>, JoinError>,
) {
    let outcome = match &ended {
        Ok(None) => "gone",
        Ok(Some((_, action))) if action.is_skip => "skipped",
        Ok(Some((attempt, _))) if attempt.conflicts > 0 => "conflict",
        Ok(Some((attempt, _))) if attempt.failures > 0 => "failed",
        Ok(Some(_)) => "ok",
        Err(_) => "panicked",
    };
    metrics.reconciled(name, outcome, took);
    match ended {
        Ok(Some((attempt, action))) => queue.finish(key, attempt, action),
        Ok(None) => queue.finish_gone(&key),
        Err(error) => {
            metrics.reconcile_panicked(name);
            let failures = queue.failures(&key).saturating_add(1);
            let wait = AFTER_PANIC.after(failures, Jitter::random());
            tracing::error!(controller = name, %key, %error, ?wait, "reconcile panicked; retrying");
            let attempt = Attempt { failures, ..Attempt::default() };
            queue.finish(key, attempt, Action::requeue(wait));
        }
    }
}

/// The reconciles that are running.
struct Running<R: Reconciler> {
    tasks: JoinSet<Ended<R>>,
    /// With the time at which each began.
    keys: HashMap<Id, (R::Key, Instant)>,
}

impl<R: Reconciler> Running<R> {
    fn start(&mut self, reconciler: Arc<R>, key: R::Key, attempt: Attempt<R>, goes_first: bool) {
        let of = key.clone();
        let reconcile = async move { reconcile(reconciler, &of, attempt).await };
        let reconcile = ASKED_TO_WAIT.scope(Cell::default(), reconcile);
        let task = self.tasks.spawn(GOES_FIRST.scope(goes_first, reconcile));
        self.keys.insert(task.id(), (key, Instant::now()));
    }

    /// The next reconcile to end; pending while there is none.
    async fn next(&mut self) -> (R::Key, Duration, Result<Ended<R>, JoinError>) {
        loop {
            let (id, ended) = match self.tasks.join_next_with_id().await {
                Some(Ok((id, ended))) => (id, Ok(ended)),
                Some(Err(error)) => (error.id(), Err(error)),
                None => std::future::pending().await,
            };
            if let Some((key, began)) = self.keys.remove(&id) {
                return (key, began.elapsed(), ended);
            }
        }
    }
}

async fn reconcile<R: Reconciler>(reconciler: Arc<R>, key: &R::Key, mut attempt: Attempt<R>) -> Ended<R> {
    let Some(object) = reconciler.find(key) else {
        reconciler.forget(key, attempt.memory).await;
        return None;
    };
    let current = uid(&object).unwrap_or_default();
    if attempt.uid != current {
        let new = Attempt { uid: current.to_owned(), ..Attempt::default() };
        let old = std::mem::replace(&mut attempt, new);
        if !old.uid.is_empty() {
            reconciler.forget(key, old.memory).await;
        }
    }
    let action = match reconciler.reconcile(key, object, &mut attempt.memory).await {
        Ok(action) => {
            if !action.is_skip {
                (attempt.failures, attempt.conflicts) = (0, 0);
            }
            action
        }
        Err(ReconcileError::Conflict) => {
            attempt.conflicts = attempt.conflicts.saturating_add(1);
            let retry_after = AFTER_CONFLICT.after(attempt.conflicts, Jitter::random());
            reconciler.on_failure(key, &mut attempt.memory, retry_after)
        }
        Err(ReconcileError::Failed(error)) => {
            attempt.failures = attempt.failures.saturating_add(1);
            attempt.conflicts = 0;
            let backoff = R::BACKOFF.after(attempt.failures, Jitter::random());
            let retry_after = backoff.max(ASKED_TO_WAIT.with(Cell::get));
            tracing::warn!(controller = reconciler.name(), %key, %error, ?retry_after, "reconcile failed; retrying");
            reconciler.on_failure(key, &mut attempt.memory, retry_after)
        }
    };
    Some((attempt, action))
}

#[cfg(test)]
mod tests;
