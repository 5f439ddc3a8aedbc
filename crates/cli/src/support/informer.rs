//! Local copies of what matters of all objects of some kinds: listed once, kept up to date by watching, and shared by all who
//! look at them.

mod follower;
mod records;
mod summaries;

pub(crate) use records::{Record, Records};
pub(crate) use summaries::{Summaries, Summary};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use cluster::{Error, Resource, Selection, Session, Watch};
use futures::future::select_all;
use futures::stream::{self, StreamExt as _};
use manifest::{GroupVersionKind, Namespace};
use serde_json::Value;
use tokio::sync::{OnceCell, watch};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::concurrency::MAX_CONCURRENT;
use follower::Follower;

/// What changes together is often reported within this time.
const SETTLE: Duration = Duration::from_millis(10);
/// Changes are reported no more often than this: a rollout makes many of them.
const INTERVAL: Duration = Duration::from_millis(100);

/// What is kept of the objects of a kind.
pub(crate) trait Shelf: Default + Send + 'static {
    /// Reads all objects, and the version to watch from.
    fn list(
        session: &Session,
        gvk: &GroupVersionKind,
        selection: &Selection,
    ) -> impl Future<Output = Result<(Self, String), Error>> + Send;

    fn watch(
        session: &Session,
        gvk: &GroupVersionKind,
        selection: &Selection,
        from: String,
    ) -> impl Future<Output = Result<Watch, Error>> + Send {
        session.watch(gvk, selection.clone(), Some(from))
    }

    /// Takes over an object, which has `apiVersion` and `kind`.
    fn put(&mut self, object: Value);

    fn remove(&mut self, uid: &str);

    /// The copies of this kind.
    fn of(informers: &Informers) -> &Stores<Self>;
}

/// The copies of a process. Each kind is listed and watched once, however many look at it, and dropped with the last one.
#[derive(Clone)]
pub(crate) struct Informers {
    session: Session,
    records: Stores<Records>,
    summaries: Stores<Summaries>,
    objects: Stores<Objects>,
}

pub(crate) type Stores<S> = Arc<Mutex<HashMap<Key, Weak<Slot<S>>>>>;
type Key = (GroupVersionKind, Option<Namespace>, Option<String>);
/// Filled by the first who looks; others wait for it.
type Slot<S> = OnceCell<Store<S>>;

/// Whole objects, by uid.
pub(crate) type Objects = HashMap<String, Arc<Value>>;

impl Shelf for Objects {
    async fn list(
        session: &Session,
        gvk: &GroupVersionKind,
        selection: &Selection,
    ) -> Result<(Self, String), Error> {
        let keep = |mut object| {
            compact(&mut object);
            (uid(&object), Arc::new(object))
        };
        let listing = session.list_kept(gvk, selection, &keep).await?;
        Ok((listing.items.into_iter().collect(), listing.resource_version))
    }

    fn put(&mut self, mut object: Value) {
        compact(&mut object);
        self.insert(uid(&object), Arc::new(object));
    }

    fn remove(&mut self, uid: &str) {
        Self::remove(self, uid);
    }

    fn of(informers: &Informers) -> &Stores<Self> {
        &informers.objects
    }
}

impl Informers {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, records: Arc::default(), summaries: Arc::default(), objects: Arc::default() }
    }

    /// All objects of `kinds`, each in one namespace or in all.
    pub(crate) async fn list<S: Shelf>(
        &self,
        kinds: impl IntoIterator<Item = (Resource, Selection)>,
    ) -> Informer<S> {
        let lists = kinds.into_iter().map(|(resource, selection)| async move {
            let slot = self.slot(&resource.gvk, &selection);
            let listed = slot.get_or_try_init(|| Store::list(&self.session, &resource.gvk, &selection)).await;
            let receiver = listed.map(|store| store.changes.subscribe());
            receiver.map(|receiver| (slot, receiver)).map_err(|_| resource)
        });
        let listed: Vec<_> = stream::iter(lists).buffered(MAX_CONCURRENT).collect().await;
        let mut informer = Informer::default();
        for outcome in listed {
            match outcome {
                Ok((slot, receiver)) => {
                    informer.slots.push(slot);
                    informer.receivers.push(receiver);
                }
                Err(resource) => informer.unreadable.push(resource),
            }
        }
        informer
    }

    /// All objects of `kinds`. A user who may not list a kind everywhere may do so in one of `namespaces`.
    pub(crate) async fn list_everywhere<S: Shelf>(
        &self,
        kinds: impl IntoIterator<Item = Resource>,
        namespaces: impl IntoIterator<Item = &Namespace> + Clone,
    ) -> Informer<S> {
        let everywhere = kinds.into_iter().map(|kind| (kind, Selection::default()));
        let mut informer = self.list(everywhere).await;
        if !informer.unreadable.is_empty() {
            let narrowed = self.list(within(&informer.unreadable, &namespaces)).await;
            let names: Vec<&str> = namespaces.into_iter().map(Namespace::as_str).collect();
            informer.narrow(narrowed, &names.join(", "));
        }
        informer
    }

    fn slot<S: Shelf>(&self, gvk: &GroupVersionKind, selection: &Selection) -> Arc<Slot<S>> {
        let key = (gvk.clone(), selection.namespace.clone(), selection.fields.clone());
        let mut stores = S::of(self).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = stores.get(&key).and_then(Weak::upgrade) {
            return slot;
        }
        stores.retain(|_, slot| slot.strong_count() > 0);
        let slot = Arc::default();
        stores.insert(key, Arc::downgrade(&slot));
        slot
    }
}

/// What one command or page looks at.
pub(crate) struct Informer<S> {
    /// All of them are filled.
    slots: Vec<Arc<Slot<S>>>,
    receivers: Vec<watch::Receiver<()>>,
    /// What could not be listed.
    unreadable: Vec<Resource>,
    /// What could be listed in some namespaces only, as in `pods outside shop`.
    outside: Vec<String>,
    /// When changes were last reported.
    reported: Option<Instant>,
}

impl<S> Default for Informer<S> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            receivers: Vec::new(),
            unreadable: Vec::new(),
            outside: Vec::new(),
            reported: None,
        }
    }
}

impl<S: Shelf> Informer<S> {
    fn stores(&self) -> impl Iterator<Item = &Store<S>> {
        self.slots.iter().filter_map(|slot| slot.get())
    }

    /// Everything as it is now. Nothing changes until this is dropped.
    pub(crate) fn shelves(&self) -> Vec<OpenShelf<'_, S>> {
        self.stores()
            .map(|store| OpenShelf {
                gvk: &store.gvk,
                namespace: store.selection.namespace.as_ref(),
                state: store.state(),
            })
            .collect()
    }

    /// Adds a list of what could not be listed everywhere, and could in `namespaces`.
    fn narrow(&mut self, narrowed: Self, namespaces: &str) {
        let failed = names(&narrowed.unreadable);
        let is_narrowed = |kind: &Resource| kind.namespaced && !failed.contains(&kind.plural);
        let (found, unreadable): (Vec<_>, Vec<_>) = self.unreadable.drain(..).partition(is_narrowed);
        self.outside = names(&found).iter().map(|plural| format!("{plural} outside {namespaces}")).collect();
        self.unreadable = unreadable;
        self.slots.extend(narrowed.slots);
        self.receivers.extend(narrowed.receivers);
    }

    /// What could not be listed, by plural names.
    pub(crate) fn unreadable(&self) -> Vec<String> {
        let mut unreadable = names(&self.unreadable);
        unreadable.extend(self.outside.iter().cloned());
        unreadable
    }

    /// The plural names of kinds that are listed and cannot be watched, so that their changes are not seen.
    pub(crate) fn unwatched(&self) -> Vec<String> {
        let is_ended = |store: &&Store<S>| store.state().is_ended;
        let mut names: Vec<String> =
            self.stores().filter(is_ended).map(|store| store.gvk.kind().to_owned()).collect();
        names.sort();
        names
    }

    /// Why the copies may be out of date: the server does not answer the watches.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.stores().find_map(|store| store.state().trouble.clone())
    }

    /// Waits for a change of the objects, or of the trouble. A kind that can no longer be watched keeps its last state.
    /// Waiting may be cancelled.
    pub(crate) async fn changed(&mut self) {
        self.stores().for_each(Store::follow);
        let changes: Vec<_> =
            self.receivers.iter_mut().map(|receiver| Box::pin(receiver.changed())).collect();
        if changes.is_empty() {
            return std::future::pending().await;
        }
        // A change that was taken from its receiver must not be lost if waiting is cancelled below.
        let (_, changed, _) = select_all(changes).await;
        self.receivers[changed].mark_changed();
        let earliest = Instant::now() + SETTLE;
        let allowed = self.reported.map_or(earliest, |last| last + INTERVAL);
        tokio::time::sleep_until(earliest.max(allowed)).await;
        self.reported = Some(Instant::now());
        self.receivers.iter_mut().for_each(watch::Receiver::mark_unchanged);
    }
}

impl Informer<Objects> {
    pub(crate) fn objects(&self) -> Vec<Arc<Value>> {
        self.shelves()
            .iter()
            .flat_map(|shelf| shelf.state.shelf.values().cloned().collect::<Vec<_>>())
            .collect()
    }
}

impl Informer<Summaries> {
    pub(crate) fn summaries(&self) -> Vec<Arc<Summary>> {
        self.shelves().iter().flat_map(|shelf| shelf.state.shelf.all()).collect()
    }
}

/// What to list of `kinds` in `namespaces`.
pub(crate) fn within<'n>(
    kinds: &[Resource],
    namespaces: &(impl IntoIterator<Item = &'n Namespace> + Clone),
) -> Vec<(Resource, Selection)> {
    let namespaced = kinds.iter().filter(|kind| kind.namespaced);
    let lists = namespaced.flat_map(|kind| {
        namespaces.clone().into_iter().map(|namespace| {
            let selection = Selection { namespace: Some(namespace.clone()), ..Selection::default() };
            (kind.clone(), selection)
        })
    });
    lists.collect()
}

/// The plural names of kinds.
fn names(kinds: &[Resource]) -> Vec<String> {
    let mut names: Vec<String> = kinds.iter().map(|resource| resource.plural.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// What is kept of a kind, which does not change while this exists.
pub(crate) struct OpenShelf<'s, S> {
    pub(crate) gvk: &'s GroupVersionKind,
    /// All namespaces if `None`.
    pub(crate) namespace: Option<&'s Namespace>,
    state: MutexGuard<'s, State<S>>,
}

impl<S> OpenShelf<'_, S> {
    pub(crate) fn content(&self) -> &S {
        &self.state.shelf
    }
}

/// All objects of a kind.
pub(crate) struct Store<S> {
    gvk: GroupVersionKind,
    session: Session,
    selection: Selection,
    state: Arc<Mutex<State<S>>>,
    changes: Arc<watch::Sender<()>>,
    /// Started by the first who waits for a change.
    follower: OnceLock<AbortOnDropHandle<()>>,
}

struct State<S> {
    shelf: S,
    resource_version: String,
    trouble: Option<String>,
    /// Whether the kind can no longer be watched.
    is_ended: bool,
}

impl<S: Shelf> Store<S> {
    async fn list(session: &Session, gvk: &GroupVersionKind, selection: &Selection) -> Result<Self, Error> {
        let (shelf, resource_version) = S::list(session, gvk, selection).await?;
        let state = State { shelf, resource_version, trouble: None, is_ended: false };
        Ok(Self {
            gvk: gvk.clone(),
            session: session.clone(),
            selection: selection.clone(),
            state: Arc::new(Mutex::new(state)),
            changes: Arc::new(watch::channel(()).0),
            follower: OnceLock::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches the kind from now on, if it is not watched yet.
    fn follow(&self) {
        self.follower.get_or_init(|| {
            let follower = Follower {
                gvk: self.gvk.clone(),
                session: self.session.clone(),
                selection: self.selection.clone(),
                state: Arc::clone(&self.state),
                changes: Arc::clone(&self.changes),
            };
            AbortOnDropHandle::new(tokio::spawn(follower.run()))
        });
    }
}

/// Keeps sets of fields as text.
pub(crate) fn compact(object: &mut Value) {
    if let Some(object) = object.as_object_mut() {
        ownership::compact(object, |_| true);
    }
}

pub(crate) fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}
