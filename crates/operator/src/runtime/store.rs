//! A local copy of all objects of one kind, kept up to date by a watch: an informer.
//!
//! ```text
//! list ──▶ watch ──▶ objects ──▶ get, by_uid, state
//!   ▲        │          └──────▶ Change { key, before, after }, to every subscriber
//!   └────────┘ when the watch has expired, after an error or an outage, and every few hours
//! ```
//!
//! A kind has no objects only if no version of it is served. If the version that was asked for is not, its objects are read
//! through one that is.

mod objects;
mod packed;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use backoff::{Backoff, Jitter};
use cluster::{Error, Selection, Session, WatchEvent};
use diag::error_chain;
use manifest::{GroupVersionKind, Namespace, ObjectRef, server_metadata};
use serde_json::{Map, Value};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::metrics::Metrics;
use super::shard::Shard;
use super::supervisor::supervise_reporting;
pub(super) use objects::uid;
use objects::{Listed, Objects, PackedChange};

const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
/// A watch that has been open for this long works, even if there were no events.
const SILENCE: Duration = Duration::from_secs(5);
/// How often everything is listed while the watch does not work.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// How often everything is listed again although the watch works. A watch says nothing of what it missed, for instance
/// when the cluster was restored from a backup.
const RELIST_INTERVAL: Duration = Duration::from_secs(4 * 3600);
/// How often to check whether the version that was asked for is served again.
const VERSION_INTERVAL: Duration = Duration::from_secs(60);

/// Which objects to keep, and how much of each.
#[derive(Clone, Debug)]
pub struct Source {
    pub gvk: GroupVersionKind,
    pub selection: Selection,
    /// The shard that the objects belong to.
    pub shard: Shard,
    /// Drops what no reader needs before an object is stored.
    pub trim: fn(&mut Value),
}

impl Source {
    /// All objects of a kind, untrimmed.
    pub fn of(gvk: GroupVersionKind) -> Self {
        Self { gvk, selection: Selection::default(), shard: Shard::default(), trim: |_| {} }
    }

    /// Those that belong to `shard`.
    #[must_use]
    pub fn in_shard(mut self, shard: &Shard) -> Self {
        self.selection.labels = shard.within(self.selection.labels);
        Self { shard: shard.clone(), ..self }
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
    /// Whether a user has just asked for something: the object is new and has no status, its spec has changed, or it is to be
    /// deleted. What is there when a watch begins is not new.
    pub(crate) fn is_request(&self) -> bool {
        let Some(after) = &self.after else { return false };
        let is_deleting = |object: &Value| object["metadata"]["deletionTimestamp"].is_string();
        match &self.before {
            None => after.get("status").is_none(),
            Some(before) => {
                before["metadata"]["generation"] != after["metadata"]["generation"]
                    || is_deleting(before) != is_deleting(after)
            }
        }
    }

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
pub struct Changes(mpsc::UnboundedReceiver<PackedChange>);

impl Changes {
    /// The next change; `None` when the store is gone.
    pub async fn recv(&mut self) -> Option<Change> {
        self.0.recv().await.map(PackedChange::unpack)
    }

    /// The next change, if there is one already.
    pub fn try_recv(&mut self) -> Option<Change> {
        self.0.try_recv().ok().map(PackedChange::unpack)
    }
}

/// A local copy. Clones share it; it is kept up to date until the last clone is dropped or `stop` is cancelled.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
    _stop: Arc<DropGuard>,
}

/// Tells of a store that others keep whether it is kept up to date.
#[derive(Clone)]
pub(crate) struct StoreStatus(Weak<Shared>);

impl StoreStatus {
    /// Why the store is not kept up to date; `None` if it is, or no longer exists.
    pub(crate) fn trouble(&self) -> Option<String> {
        let shared = self.0.upgrade()?;
        let error = shared.sync().error.clone()?;
        Some(format!("{}: {error}", shared.source.gvk))
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}

struct Shared {
    source: Source,
    objects: Mutex<Objects>,
    sync: Mutex<SyncState>,
    /// Wakes those who wait for another state in the order in which they came, unlike a `watch` channel.
    sync_changed: Notify,
}

#[derive(Clone, Debug, Default)]
struct SyncState {
    /// Whether all objects have been listed once.
    is_synced: bool,
    /// Why the copy is not being kept up to date.
    error: Option<Arc<str>>,
}

impl Store {
    /// A copy that a task of its own keeps up to date until `stop`. After a panic it says that it is not, until all objects were
    /// listed again.
    pub fn start(session: Session, source: Source, metrics: &Metrics, stop: &CancellationToken) -> Self {
        let shared = Arc::new(Shared {
            source,
            objects: Mutex::new(Objects::default()),
            sync: Mutex::default(),
            sync_changed: Notify::new(),
        });
        let stop = stop.child_token();
        let guard = Arc::new(stop.clone().drop_guard());
        let (reflector, metrics) = (Arc::clone(&shared), metrics.clone());
        tokio::spawn(async move {
            let report = |why: &str| {
                reflector.failed(format!(
                    "keeping objects of kind {} up to date panicked: {why}",
                    reflector.source.gvk.kind()
                ));
            };
            let reflect = || reflector.reflect(&session);
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = supervise_reporting("store", &metrics, &stop, report, reflect) => {}
            }
        });
        Self { shared, _stop: guard }
    }

    pub fn get(&self, key: &Key) -> Option<Arc<Value>> {
        let found = self.shared.objects().get(key);
        found.map(|object| Arc::new(object.unpack()))
    }

    pub fn by_uid(&self, uid: &str) -> Option<Arc<Value>> {
        let found = self.shared.objects().by_uid(uid);
        found.map(|object| Arc::new(object.unpack()))
    }

    /// The keys of all objects, in order.
    pub fn keys(&self) -> Vec<Key> {
        self.shared.objects().keys()
    }

    /// All objects, ordered by namespace and name. Each is a copy, made when its turn comes.
    pub fn state(&self) -> impl Iterator<Item = Arc<Value>> + use<> {
        let all = self.shared.objects().all();
        all.into_iter().map(|object| Arc::new(object.unpack()))
    }

    /// How many bytes all objects have as text.
    pub fn size(&self) -> usize {
        self.shared.objects().size()
    }

    /// Waits until all objects have been listed once.
    pub async fn wait_until_synced(&self) {
        self.shared.when(|sync| sync.is_synced.then_some(())).await;
    }

    pub fn is_synced(&self) -> bool {
        self.shared.sync().is_synced
    }

    /// Why the copy is not being kept up to date; `None` if it is.
    pub fn error(&self) -> Option<Arc<str>> {
        self.shared.sync().error.clone()
    }

    pub(crate) fn status(&self) -> StoreStatus {
        StoreStatus(Arc::downgrade(&self.shared))
    }

    /// Waits until all objects have been listed once; why not, or why the copy is no longer kept up to date.
    pub async fn ready(&self) -> Result<(), Arc<str>> {
        let known = |sync: &SyncState| match &sync.error {
            Some(error) => Some(Err(Arc::clone(error))),
            None => sync.is_synced.then_some(Ok(())),
        };
        self.shared.when(known).await
    }

    /// Stores the response to a write ahead of the watch, so that the next reconcile does not decide on what was there
    /// before. A newer version that the watch has already delivered stays. An object that has left the shard is forgotten.
    pub fn record_write(&self, object: Value) {
        if object.as_object().is_some_and(|object| !self.shared.source.shard.selects(object)) {
            self.shared.objects().left(&object);
            return;
        }
        self.shared.objects().record_write(&self.shared.trimmed(object));
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

    fn sync(&self) -> MutexGuard<'_, SyncState> {
        self.sync.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a state in which `found` finds something.
    async fn when<T>(&self, found: impl Fn(&SyncState) -> Option<T>) -> T {
        loop {
            // Before the state is read: this notices every change from here on.
            let changed = self.sync_changed.notified();
            let state = found(&self.sync());
            match state {
                Some(found) => return found,
                None => changed.await,
            }
        }
    }

    fn set_sync(&self, change: impl FnOnce(&mut SyncState) -> bool) {
        if change(&mut self.sync()) {
            self.sync_changed.notify_waiters();
        }
    }

    /// Follows the cluster for ever, through all errors.
    async fn reflect(&self, session: &Session) {
        let mut failures = 0;
        loop {
            let Err(error) = self.list_and_watch(session, &mut failures).await else { continue };
            failures += 1;
            if failures == 1 && error.served_instead().is_some() {
                // The version has just gone, and the objects have not.
                continue;
            }
            self.failed(error_chain(&error));
            if error.is_kind_absent() {
                // Discovery was fresh: all objects are gone with their kind.
                self.objects().replace(Vec::new(), None);
            }
            tokio::time::sleep(BACKOFF.after(failures, Jitter::random())).await;
        }
    }

    /// Follows the cluster until it is time to begin with a list again.
    async fn list_and_watch(&self, session: &Session, failures: &mut u32) -> Result<(), Error> {
        let gvk = &self.served(session).await?;
        let from = self.list(session, gvk).await?;
        let mut watch = session.watch(gvk, self.source.selection.clone(), Some(from)).await?;
        let began = Instant::now();
        let relist = began + Jitter::random().sooner(RELIST_INTERVAL);
        let mut check_version = began + VERSION_INTERVAL;
        let mut breaks = 0;
        let mut last_heard = began;
        loop {
            // After an outage there may be another server, whose versions say nothing.
            let was_away = watch.outages() > 0 && watch.is_open();
            if Instant::now() >= relist || was_away {
                return Ok(());
            }
            if watch.breaks() != breaks {
                breaks = watch.breaks();
                if self.is_restored(session, gvk, watch.version()).await? {
                    tracing::warn!(kind = %gvk, "the server is at an earlier version than before; listing again");
                    return Ok(());
                }
            }
            if *gvk != self.source.gvk && Instant::now() >= check_version {
                check_version = Instant::now() + VERSION_INTERVAL;
                if session.resource(&self.source.gvk).await.is_ok() {
                    return Ok(());
                }
            }
            let next = match tokio::time::timeout(SILENCE, watch.next()).await {
                Ok(next) => Some(next?),
                Err(_) => None,
            };
            // What may be listed may be impossible to watch, and would recover at every attempt.
            if next.is_none() && (!watch.is_open() || watch.trouble().is_some()) {
                if let Some(trouble) = watch.trouble() {
                    self.failed(format!("cannot watch objects of kind {}: {trouble}", gvk.kind()));
                }
                if last_heard.elapsed() >= POLL_INTERVAL {
                    return Ok(());
                }
                continue;
            }
            last_heard = Instant::now();
            *failures = 0;
            self.recovered();
            let Some(event) = next else { continue };
            match event {
                WatchEvent::Applied(object) => self.objects().set(&self.trimmed(object)),
                WatchEvent::Deleted(object) => self.objects().deleted(&object),
                WatchEvent::Expired => {
                    let from = self.list(session, gvk).await?;
                    watch.resume(Some(from));
                    breaks = watch.breaks();
                }
            }
        }
    }

    /// The version to read through: the one that was asked for, or another one if that is not served.
    async fn served(&self, session: &Session) -> Result<GroupVersionKind, Error> {
        let gvk = &self.source.gvk;
        match session.resource(gvk).await {
            Ok(_) => Ok(gvk.clone()),
            Err(error) => match error.served_instead() {
                Some(other) => {
                    tracing::warn!(kind = %gvk, through = %other, "the version is not served; reading through another");
                    Ok(other.clone())
                }
                None => Err(error),
            },
        }
    }

    /// Whether the server has not reached `version` yet, because it was restored from a backup. It would send nothing until
    /// it has.
    async fn is_restored(
        &self,
        session: &Session,
        gvk: &GroupVersionKind,
        version: Option<&str>,
    ) -> Result<bool, Error> {
        let Some(version) = version.and_then(|version| version.parse::<u64>().ok()) else { return Ok(false) };
        let selection = Selection { limit: Some(1), ..self.source.selection.clone() };
        let now = session.list_kept(gvk, &selection, &drop).await?.resource_version;
        Ok(now.parse::<u64>().is_ok_and(|now| now < version))
    }

    /// Lists all objects; the version to watch from.
    async fn list(&self, session: &Session, gvk: &GroupVersionKind) -> Result<String, Error> {
        self.objects().begin_list();
        let keep = |object| Listed::new(&self.trimmed(object));
        let listing = session.list_kept(gvk, &self.source.selection, &keep).await?;
        self.objects().replace(listing.items, listing.resource_version.parse().ok());
        self.set_sync(|sync| !std::mem::replace(&mut sync.is_synced, true));
        Ok(listing.resource_version)
    }

    fn trimmed(&self, mut object: Value) -> Value {
        (self.source.trim)(&mut object);
        object
    }

    fn recovered(&self) {
        self.set_sync(|sync| {
            let had_failed = sync.error.take().is_some();
            if had_failed {
                tracing::info!(kind = %self.source.gvk, "watching again");
            }
            had_failed
        });
    }

    /// Publishes an error and logs it, once while it stays the same.
    fn failed(&self, cause: String) {
        self.set_sync(|sync| {
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
