//! A local copy of all objects of one kind, kept up to date by a watch: an informer.
//!
//! ```text
//! list ──▶ watch ──▶ objects ──▶ get, by_uid, state
//!   ▲        │          └──────▶ Change { key, before, after }, to every subscriber
//!   └────────┘ when the watch has expired, or after an error
//! ```

mod objects;

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cluster::{Class, Error, Selection, Session, WatchEvent};
use manifest::{GroupVersionKind, Namespace, ObjectRef, server_metadata};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::backoff::Backoff;
use diag::error_chain;
use objects::Objects;
pub(super) use objects::uid;

const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
/// A watch that has not failed for this long works, even if there were no events.
const SILENCE: Duration = Duration::from_secs(5);

/// Which objects to keep, and how much of each.
#[derive(Clone, Debug)]
pub struct Source {
    pub gvk: GroupVersionKind,
    pub selection: Selection,
    /// Drops what no reader needs before an object is stored.
    pub trim: fn(&mut Value),
}

impl Source {
    /// All objects of a kind, untrimmed.
    pub fn of(gvk: GroupVersionKind) -> Self {
        Self { gvk, selection: Selection::default(), trim: |_| {} }
    }

    /// Drops `managedFields`, which is the larger part of many objects.
    #[must_use]
    pub fn without_managed_fields(self) -> Self {
        let trim = |object: &mut Value| {
            server_metadata::remove(object.get_mut("metadata"), server_metadata::OWNERSHIP);
        };
        Self { trim, ..self }
    }
}

/// The namespace and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub namespace: Option<String>,
    pub name: String,
}

impl Key {
    /// The key of an object without a namespace.
    pub fn cluster_scoped(name: impl Into<String>) -> Self {
        Self { namespace: None, name: name.into() }
    }

    pub fn of(object: &Value) -> Self {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Self { namespace: text("/metadata/namespace"), name: text("/metadata/name").unwrap_or_default() }
    }

    /// The key of `object`, without wrapping it in a `Value`.
    pub(crate) fn of_object(object: &Map<String, Value>) -> Self {
        let text = |key| object.get("metadata")?.get(key)?.as_str().map(str::to_owned);
        Self { namespace: text("namespace"), name: text("name").unwrap_or_default() }
    }

    /// The object of kind `gvk` with this key.
    pub(crate) fn reference(&self, gvk: &GroupVersionKind) -> ObjectRef {
        let namespace = self.namespace.as_deref().and_then(Namespace::new);
        ObjectRef::new(gvk.clone(), namespace, self.name.clone())
    }
}

impl From<&ObjectRef> for Key {
    fn from(object: &ObjectRef) -> Self {
        let namespace = object.namespace.as_ref().map(|namespace| namespace.as_str().to_owned());
        Self { namespace, name: object.name.clone() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A change of one object. `before` and `after` are never both `None`, and have the same uid: an object that took the
/// name of another is a second change.
#[derive(Clone)]
pub struct Change {
    pub key: Key,
    /// `None` if the object is new.
    pub before: Option<Arc<Value>>,
    /// `None` if the object is gone.
    pub after: Option<Arc<Value>>,
}

impl Change {
    /// The object before and after, where it exists.
    pub(crate) fn sides(&self) -> impl Iterator<Item = &Map<String, Value>> {
        [&self.before, &self.after].into_iter().flatten().filter_map(|object| object.as_object())
    }
}

/// Shows names only: the object may be a Secret.
impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (&self.before, &self.after) {
            (None, _) => "Added",
            (Some(_), Some(_)) => "Changed",
            (Some(_), None) => "Deleted",
        };
        write!(f, "{what}({})", self.key)
    }
}

/// Changes in the order in which they happened. The channel is unbounded, so none is lost.
pub type Changes = mpsc::UnboundedReceiver<Change>;

/// A local copy. Clones share it; it is kept up to date until the last clone is dropped or `stop` is cancelled.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
    _stop: Arc<DropGuard>,
}

struct Shared {
    source: Source,
    objects: Mutex<Objects>,
    sync: watch::Sender<SyncState>,
}

#[derive(Clone, Debug, Default)]
struct SyncState {
    /// Whether all objects have been listed once.
    is_synced: bool,
    /// Why the copy is not being kept up to date.
    error: Option<Arc<str>>,
}

impl Store {
    /// A copy that a task of its own keeps up to date until `stop`.
    pub fn start(session: Session, source: Source, stop: &CancellationToken) -> Self {
        let shared = Arc::new(Shared {
            source,
            objects: Mutex::new(Objects::default()),
            sync: watch::Sender::new(SyncState::default()),
        });
        let stop = stop.child_token();
        let guard = Arc::new(stop.clone().drop_guard());
        let reflector = Arc::clone(&shared);
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = reflector.reflect(&session) => {}
            }
        });
        Self { shared, _stop: guard }
    }

    pub fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.shared.objects().get(key)
    }

    pub fn by_uid(&self, uid: &str) -> Option<Arc<Value>> {
        self.shared.objects().by_uid(uid)
    }

    /// All objects, ordered by namespace and name.
    pub fn state(&self) -> Vec<Arc<Value>> {
        self.shared.objects().all()
    }

    /// Waits until all objects have been listed once.
    pub async fn wait_until_synced(&self) {
        // The sender lives as long as this store, so the wait does not fail.
        let mut sync = self.shared.sync.subscribe();
        let _synced = sync.wait_for(|sync| sync.is_synced).await;
    }

    pub fn is_synced(&self) -> bool {
        self.shared.sync.borrow().is_synced
    }

    /// Why the copy is not being kept up to date; `None` if it is.
    pub fn error(&self) -> Option<Arc<str>> {
        self.shared.sync.borrow().error.clone()
    }

    /// Waits until all objects have been listed once, or until it is known why they cannot be.
    pub async fn try_sync(&self) -> Result<(), Arc<str>> {
        let mut sync = self.shared.sync.subscribe();
        let ended = sync.wait_for(|sync| sync.is_synced || sync.error.is_some()).await;
        match ended.as_deref() {
            Ok(SyncState { is_synced: false, error: Some(error) }) => Err(Arc::clone(error)),
            _ => Ok(()),
        }
    }

    /// Stores the response to a write ahead of the watch, so that the next reconcile does not decide on what was there
    /// before. A newer version that the watch has already delivered stays.
    pub fn record_write(&self, object: Value) {
        self.shared.objects().record_write(self.shared.trimmed(object));
    }

    /// All changes from now on, preceded by what is there already, as if it were new.
    pub fn subscribe(&self) -> Changes {
        self.shared.objects().subscribe()
    }
}

impl Shared {
    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the cluster for ever, through all errors.
    async fn reflect(&self, session: &Session) {
        let mut failures = 0;
        loop {
            let error = match self.list_and_watch(session, &mut failures).await {
                Ok(never) => match never {},
                Err(error) => error,
            };
            failures += 1;
            self.failed(&error);
            if error.class() == Class::KindMissing {
                // Discovery was fresh: all objects are gone with their kind.
                self.objects().replace(Vec::new(), None);
            }
            tokio::time::sleep(BACKOFF.after(failures)).await;
        }
    }

    async fn list_and_watch(&self, session: &Session, failures: &mut u32) -> Result<Infallible, Error> {
        let Source { gvk, selection, .. } = &self.source;
        let from = self.list(session).await?;
        let mut watch = session.watch(gvk, selection.clone(), Some(from)).await?;
        let mut works = false;
        loop {
            let next = match tokio::time::timeout(SILENCE, watch.next()).await {
                Ok(next) => Some(next?),
                Err(_) => None,
            };
            if !works {
                // Not before: what may be listed may be forbidden to watch, and would recover at every attempt.
                works = true;
                *failures = 0;
                self.recovered();
            }
            let Some(event) = next else { continue };
            match event {
                WatchEvent::Applied(object) => self.objects().set(self.trimmed(object)),
                WatchEvent::Deleted(object) => self.objects().deleted(&object),
                WatchEvent::Expired => {
                    let from = self.list(session).await?;
                    watch.resume(Some(from));
                }
            }
        }
    }

    /// Lists all objects; the version to watch from.
    async fn list(&self, session: &Session) -> Result<String, Error> {
        let Source { gvk, selection, trim } = &self.source;
        let listing = session.list_trimmed(gvk, selection, trim).await?;
        self.objects().replace(listing.items, listing.resource_version.parse().ok());
        self.sync.send_if_modified(|sync| !std::mem::replace(&mut sync.is_synced, true));
        Ok(listing.resource_version)
    }

    fn trimmed(&self, mut object: Value) -> Value {
        (self.source.trim)(&mut object);
        object
    }

    fn recovered(&self) {
        self.sync.send_if_modified(|sync| {
            let had_failed = sync.error.take().is_some();
            if had_failed {
                tracing::info!(kind = %self.source.gvk, "watching again");
            }
            had_failed
        });
    }

    /// Publishes an error and logs it, once while it stays the same.
    fn failed(&self, error: &Error) {
        let cause = error_chain(error);
        self.sync.send_if_modified(|sync| {
            let is_new = sync.error.as_deref() != Some(cause.as_str());
            if is_new {
                tracing::warn!(kind = %self.source.gvk, cause, "cannot list or watch; retrying");
                sync.error = Some(cause.into());
            }
            is_new
        });
    }
}

#[cfg(test)]
mod tests;
