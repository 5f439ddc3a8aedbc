//! Local copies of all objects of some kinds: listed once, kept up to date by watching, and shared by all who look at them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use cluster::{Error, Resource, Selection, Session, WatchEvent};
use futures::future::select_all;
use futures::stream::{self, StreamExt as _};
use manifest::{GroupVersionKind, Namespace};
use serde_json::Value;
use tokio::sync::{OnceCell, watch};
use tokio_util::task::AbortOnDropHandle;

use super::concurrency::MAX_CONCURRENT;

/// Changes within this time are reported as one: a rollout makes many of them at once.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// How often a silent watch is asked whether it has lost the server.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait before a list that failed is tried again.
const RETRY: Duration = Duration::from_secs(2);

/// The copies of a process. Each kind is listed and watched once, however many look at it, and dropped with the last one.
#[derive(Clone)]
pub(crate) struct Informers {
    session: Session,
    stores: Arc<Mutex<HashMap<Key, Weak<Slot>>>>,
}

type Key = (GroupVersionKind, Option<Namespace>, Option<String>);
/// Filled by the first who looks; others wait for it.
type Slot = OnceCell<Store>;

impl Informers {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, stores: Arc::default() }
    }

    /// All objects of `kinds` that match `selection`, which has no labels and no limit.
    pub(crate) async fn list(&self, kinds: Vec<Resource>, selection: &Selection) -> Informer {
        let lists = kinds.into_iter().map(|resource| async move {
            let slot = self.slot(&resource.gvk, selection);
            let listed = slot.get_or_try_init(|| Store::list(&self.session, &resource.gvk, selection)).await;
            let receiver = listed.map(|store| store.changes.subscribe());
            receiver.map(|receiver| (slot, receiver)).map_err(|_| resource.plural)
        });
        let listed: Vec<_> = stream::iter(lists).buffered(MAX_CONCURRENT).collect().await;
        let (mut slots, mut receivers, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
        for outcome in listed {
            match outcome {
                Ok((slot, receiver)) => {
                    slots.push(slot);
                    receivers.push(receiver);
                }
                Err(kind) => unreadable.push(kind),
            }
        }
        unreadable.sort();
        Informer { slots, receivers, unreadable }
    }

    fn slot(&self, gvk: &GroupVersionKind, selection: &Selection) -> Arc<Slot> {
        let key = (gvk.clone(), selection.namespace.clone(), selection.fields.clone());
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
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
pub(crate) struct Informer {
    /// All of them are filled.
    slots: Vec<Arc<Slot>>,
    receivers: Vec<watch::Receiver<()>>,
    /// The plural names of kinds that could not be listed.
    pub(crate) unreadable: Vec<String>,
}

impl Informer {
    fn stores(&self) -> impl Iterator<Item = &Store> {
        self.slots.iter().filter_map(|slot| slot.get())
    }

    pub(crate) fn objects(&self) -> Vec<Arc<Value>> {
        self.stores()
            .flat_map(|store| store.with(|state| state.objects.values().cloned().collect::<Vec<_>>()))
            .collect()
    }

    pub(crate) fn get(&self, uid: &str) -> Option<Arc<Value>> {
        self.stores().find_map(|store| store.with(|state| state.objects.get(uid).cloned()))
    }

    pub(crate) fn has_kind(&self, gvk: &GroupVersionKind) -> bool {
        self.stores().any(|store| store.gvk == *gvk)
    }

    /// Why the copies may be out of date: the server does not answer the watches.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.stores().find_map(|store| store.with(|state| state.trouble.clone()))
    }

    /// Waits for a change of the objects, or of the trouble. A kind that can no longer be watched keeps its last state.
    pub(crate) async fn changed(&mut self) {
        self.stores().for_each(Store::follow);
        let changes: Vec<_> =
            self.receivers.iter_mut().map(|receiver| Box::pin(receiver.changed())).collect();
        if changes.is_empty() {
            return std::future::pending().await;
        }
        select_all(changes).await.0.ok();
        tokio::time::sleep(DEBOUNCE).await;
        self.receivers.iter_mut().for_each(watch::Receiver::mark_unchanged);
    }
}

/// All objects of a kind.
struct Store {
    gvk: GroupVersionKind,
    session: Session,
    selection: Selection,
    state: Arc<Mutex<State>>,
    changes: Arc<watch::Sender<()>>,
    /// Started by the first who waits for a change.
    follower: OnceLock<AbortOnDropHandle<()>>,
}

struct State {
    /// By uid.
    objects: HashMap<String, Arc<Value>>,
    resource_version: String,
    trouble: Option<String>,
}

impl State {
    async fn list(session: &Session, gvk: &GroupVersionKind, selection: &Selection) -> Result<Self, Error> {
        let listing = session.list(gvk, selection).await?;
        let objects = listing.items.into_iter().map(|mut object| {
            compact(&mut object);
            (uid(&object), Arc::new(object))
        });
        let objects = objects.collect();
        Ok(Self { objects, resource_version: listing.resource_version, trouble: None })
    }
}

impl Store {
    async fn list(session: &Session, gvk: &GroupVersionKind, selection: &Selection) -> Result<Self, Error> {
        let state = Arc::new(Mutex::new(State::list(session, gvk, selection).await?));
        let (session, selection) = (session.clone(), selection.clone());
        let changes = Arc::new(watch::channel(()).0);
        Ok(Self { gvk: gvk.clone(), session, selection, state, changes, follower: OnceLock::new() })
    }

    fn with<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
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

/// Keeps the state of a store up to date.
struct Follower {
    gvk: GroupVersionKind,
    session: Session,
    selection: Selection,
    state: Arc<Mutex<State>>,
    changes: Arc<watch::Sender<()>>,
}

impl Follower {
    async fn run(self) {
        let from = self.update(|state| (false, Some(state.resource_version.clone())));
        let Ok(mut watch) = self.session.watch(&self.gvk, self.selection.clone(), from).await else { return };
        loop {
            let event = tokio::time::timeout(CHECK_INTERVAL, watch.next()).await;
            match event {
                Ok(Ok(WatchEvent::Applied(mut object))) => {
                    object["apiVersion"] = self.gvk.api_version().to_string().into();
                    object["kind"] = self.gvk.kind().into();
                    compact(&mut object);
                    self.update(|state| (true, drop(state.objects.insert(uid(&object), Arc::new(object)))));
                }
                Ok(Ok(WatchEvent::Deleted(object))) => {
                    self.update(|state| (true, drop(state.objects.remove(&uid(&object)))));
                }
                Ok(Ok(WatchEvent::Expired)) => watch.resume(Some(self.list_again().await)),
                Ok(Err(_)) => return,
                Err(_) => {}
            }
            let trouble = watch.trouble();
            self.update(|state| (state.trouble != trouble, state.trouble = trouble));
        }
    }

    /// Replaces the objects by those of a new list, and returns its version.
    async fn list_again(&self) -> String {
        loop {
            match State::list(&self.session, &self.gvk, &self.selection).await {
                Ok(listed) => {
                    let version = listed.resource_version.clone();
                    self.update(|state| (true, *state = listed));
                    return version;
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }

    /// Changes the state, and says so if that makes a difference.
    fn update<T>(&self, change: impl FnOnce(&mut State) -> (bool, T)) -> T {
        let (is_different, value) = change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        if is_different {
            self.changes.send_replace(());
        }
        value
    }
}

/// Keeps sets of fields as text.
fn compact(object: &mut Value) {
    if let Some(object) = object.as_object_mut() {
        ownership::compact(object, |_| true);
    }
}

pub(crate) fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}
