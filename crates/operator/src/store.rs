//! A local copy of all objects of one kind that keeps itself up to date, so that nobody has to ask the API server.
//!
//! ```text
//! list ──▶ watch ──▶ objects ──▶ get, by_uid, all
//!   ▲        │          └──────▶ Change { key, before, after }, to everyone who subscribed
//!   └────────┘ when the watch has lost its place, or after trouble
//! ```

mod objects;

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cluster::{Class, Error, Event, Selection, Session};
use manifest::{GroupVersionKind, server_metadata};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::backoff;
use crate::said::chain;
use objects::Objects;

/// The waits before the cluster is asked again after trouble.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(10);
/// A watch that has not failed for this long is a good one, although nothing happens.
const SILENCE: Duration = Duration::from_secs(5);

/// Which objects to keep, and how much of them.
#[derive(Clone, Debug)]
pub struct Source {
    /// Their kind.
    pub gvk: GroupVersionKind,
    /// Where they are, and what they have in common.
    pub selection: Selection,
    /// Takes away on the way in what nobody will look at.
    pub trim: fn(&mut Value),
}

impl Source {
    /// All objects of a kind, whole.
    pub fn of(gvk: GroupVersionKind) -> Self {
        Self { gvk, selection: Selection::default(), trim: |_| {} }
    }

    /// Without who holds which field, which is the larger part of many objects.
    #[must_use]
    pub fn without_managed_fields(self) -> Self {
        let trim = |object: &mut Value| {
            server_metadata::remove(object.get_mut("metadata"), server_metadata::OWNERSHIP);
        };
        Self { trim, ..self }
    }
}

/// What an object is called among those of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Its namespace, if its kind has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Key {
    /// The key of `object`.
    pub fn of(object: &Value) -> Self {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Self { namespace: text("/metadata/namespace"), name: text("/metadata/name").unwrap_or_default() }
    }

    /// The key of `object`, without wrapping it in a `Value`.
    pub(crate) fn of_object(object: &serde_json::Map<String, Value>) -> Self {
        let text = |key| object.get("metadata")?.get(key)?.as_str().map(str::to_owned);
        Self { namespace: text("namespace"), name: text("name").unwrap_or_default() }
    }

    /// The object of kind `gvk` with this key.
    pub(crate) fn reference(&self, gvk: &GroupVersionKind) -> manifest::ObjectRef {
        let namespace = self.namespace.as_deref().and_then(manifest::Namespace::new);
        manifest::ObjectRef::new(gvk.clone(), namespace, self.name.clone())
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

/// What became of an object. Never both `None`, and both of the same uid: what took another's name is a second change.
#[derive(Clone)]
pub struct Change {
    /// What it is called.
    pub key: Key,
    /// As it was; `None` if it is new.
    pub before: Option<Arc<Value>>,
    /// As it is; `None` if it has gone.
    pub after: Option<Arc<Value>>,
}

/// A Secret may be among the objects, so only their names are shown.
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

/// Changes in the order in which they happened. Never lossy: what is not read yet is kept.
pub type Changes = mpsc::UnboundedReceiver<Change>;

/// A live copy. Clones share it; it is kept up to date until the last is gone or the stop has come.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
    _keeping: Arc<DropGuard>,
}

struct Shared {
    source: Source,
    objects: Mutex<Objects>,
    state: watch::Sender<State>,
}

/// How the copy stands.
#[derive(Clone, Debug, Default)]
struct State {
    /// Whether everything has been read once.
    synced: bool,
    /// Why it is not kept up to date at the moment.
    trouble: Option<Arc<str>>,
}

impl Store {
    /// A copy that is kept by a task of its own, on the runtime of the caller, until `stop`.
    pub fn start(session: Session, source: Source, stop: &CancellationToken) -> Self {
        let shared = Arc::new(Shared {
            source,
            objects: Mutex::new(Objects::default()),
            state: watch::Sender::new(State::default()),
        });
        let stop = stop.child_token();
        let keeping = Arc::new(stop.clone().drop_guard());
        let keeper = Arc::clone(&shared);
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = keeper.keep(&session) => {}
            }
        });
        Self { shared, _keeping: keeping }
    }

    /// The object of this name, if there is one.
    pub fn get(&self, namespace: Option<&str>, name: &str) -> Option<Arc<Value>> {
        let key = Key { namespace: namespace.map(str::to_owned), name: name.to_owned() };
        self.shared.objects().get(&key)
    }

    /// The object of this key, if there is one.
    pub fn find(&self, key: &Key) -> Option<Arc<Value>> {
        self.shared.objects().get(key)
    }

    /// The object with this uid, if there is one.
    pub fn by_uid(&self, uid: &str) -> Option<Arc<Value>> {
        self.shared.objects().by_uid(uid)
    }

    /// All objects, by namespace and name.
    pub fn all(&self) -> Vec<Arc<Value>> {
        self.shared.objects().all()
    }

    /// Waits until everything has been read once; what is read then is no older than this store.
    pub async fn synced(&self) {
        // The sender lives as long as this store, so the wait ends only well.
        let mut state = self.shared.state.subscribe();
        let _synced = state.wait_for(|state| state.synced).await;
    }

    /// Whether everything has been read once.
    pub fn is_synced(&self) -> bool {
        self.shared.state.borrow().synced
    }

    /// Why the copy is not kept up to date at the moment; `None` when all is well.
    pub fn trouble(&self) -> Option<Arc<str>> {
        self.shared.state.borrow().trouble.clone()
    }

    /// Waits until everything has been read once, or until it is known why it cannot be.
    pub async fn ready(&self) -> Result<(), Arc<str>> {
        let mut state = self.shared.state.subscribe();
        let ended = state.wait_for(|state| state.synced || state.trouble.is_some()).await;
        match ended.as_deref() {
            Ok(State { synced: false, trouble: Some(trouble) }) => Err(Arc::clone(trouble)),
            _ => Ok(()),
        }
    }

    /// Takes in what the API server answered to a write, before the watch tells of it: whoever writes must not decide
    /// next on what was there before. What the watch has already told more about is left alone.
    pub fn learned(&self, object: Value) {
        self.shared.objects().learn(self.shared.trimmed(object));
    }

    /// All changes from now on; first, what is there already, as if it were new.
    pub fn subscribe(&self) -> Changes {
        self.shared.objects().subscribe()
    }
}

impl Shared {
    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the cluster for ever, whatever happens.
    async fn keep(&self, session: &Session) {
        let mut failures = 0;
        loop {
            let error = match self.follow(session, &mut failures).await {
                Ok(never) => match never {},
                Err(error) => error,
            };
            failures += 1;
            self.report(&error);
            if error.class() == Class::KindMissing {
                // With the kind, a fresh discovery says, all its objects have gone.
                self.objects().replace(Vec::new(), None);
            }
            tokio::time::sleep(backoff::pause(failures, FIRST_RETRY, LONGEST_RETRY)).await;
        }
    }

    async fn follow(&self, session: &Session, failures: &mut u32) -> Result<Infallible, Error> {
        let Source { gvk, selection, .. } = &self.source;
        let from = self.read(session).await?;
        let mut watch = session.watch(gvk, selection.clone(), Some(from)).await?;
        let mut well = false;
        loop {
            let next = match tokio::time::timeout(SILENCE, watch.next()).await {
                Ok(next) => Some(next?),
                Err(_) => None,
            };
            if !well {
                // Not before: what may be listed may be forbidden to watch, and would be news every time.
                well = true;
                *failures = 0;
                self.recovered();
            }
            let Some(event) = next else { continue };
            match event {
                Event::Set(object) => self.objects().set(self.trimmed(object)),
                Event::Deleted(object) => self.objects().deleted(&object),
                Event::Expired => {
                    let from = self.read(session).await?;
                    watch.resume(Some(from));
                }
            }
        }
    }

    /// Reads everything anew; where a watch goes on from.
    async fn read(&self, session: &Session) -> Result<String, Error> {
        let Source { gvk, selection, trim } = &self.source;
        let listing = session.list_trimmed(gvk, selection, trim).await?;
        self.objects().replace(listing.items, listing.resource_version.parse().ok());
        self.state.send_if_modified(|state| !std::mem::replace(&mut state.synced, true));
        Ok(listing.resource_version)
    }

    fn trimmed(&self, mut object: Value) -> Value {
        (self.source.trim)(&mut object);
        object
    }

    fn recovered(&self) {
        self.state.send_if_modified(|state| {
            let had_trouble = state.trouble.take().is_some();
            if had_trouble {
                tracing::info!(kind = %self.source.gvk, "objects are followed again");
            }
            had_trouble
        });
    }

    /// Makes trouble known, once per cause.
    fn report(&self, error: &Error) {
        let cause = chain(error);
        self.state.send_if_modified(|state| {
            let is_news = state.trouble.as_deref() != Some(cause.as_str());
            if is_news {
                tracing::warn!(kind = %self.source.gvk, cause, "objects cannot be followed; trying again");
                state.trouble = Some(cause.into());
            }
            is_news
        });
    }
}

#[cfg(test)]
mod tests;
