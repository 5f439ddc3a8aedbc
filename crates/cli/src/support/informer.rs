//! A local copy of all objects of some kinds: listed once, then kept up to date by watching.

use std::collections::HashMap;
use std::time::Duration;

use cluster::{Resource, Selection, Session, WatchEvent};
use futures::stream::{self, BoxStream, SelectAll, StreamExt as _};
use manifest::{GroupVersionKind, Namespace};
use serde_json::Value;

use super::concurrency::MAX_CONCURRENT;

/// Changes within this time are reported as one: a rollout makes many of them at once.
const DEBOUNCE: Duration = Duration::from_millis(50);

pub(crate) struct Informer {
    session: Session,
    selection: Selection,
    stores: Vec<Store>,
    /// The plural names of kinds that could not be listed.
    pub(crate) unreadable: Vec<String>,
    /// Opened by the first [`Informer::changed`].
    watches: Option<Watches>,
}

/// Events of all kinds, each with the index of its store.
type Watches = SelectAll<BoxStream<'static, (usize, WatchEvent)>>;

struct Store {
    gvk: GroupVersionKind,
    /// By uid.
    objects: HashMap<String, Value>,
    resource_version: String,
}

impl Informer {
    /// Lists all objects of `kinds`, in one namespace or in all.
    pub(crate) async fn list(session: &Session, kinds: Vec<Resource>, namespace: Option<&Namespace>) -> Self {
        let selection = Selection { namespace: namespace.cloned(), ..Selection::default() };
        let lists = kinds.into_iter().map(|resource| async {
            match session.list(&resource.gvk, &selection).await {
                Ok(listing) => Ok(Store {
                    gvk: resource.gvk,
                    objects: listing.items.into_iter().map(|object| (uid(&object), object)).collect(),
                    resource_version: listing.resource_version,
                }),
                Err(_) => Err(resource.plural),
            }
        });
        let listed: Vec<Result<Store, String>> = stream::iter(lists).buffered(MAX_CONCURRENT).collect().await;
        let (mut stores, mut unreadable) = (Vec::new(), Vec::new());
        for outcome in listed {
            match outcome {
                Ok(store) => stores.push(store),
                Err(kind) => unreadable.push(kind),
            }
        }
        unreadable.sort();
        Self { session: session.clone(), selection, stores, unreadable, watches: None }
    }

    pub(crate) fn objects(&self) -> Vec<&Value> {
        self.stores.iter().flat_map(|store| store.objects.values()).collect()
    }

    pub(crate) fn get(&self, uid: &str) -> Option<&Value> {
        self.stores.iter().find_map(|store| store.objects.get(uid))
    }

    pub(crate) fn has_kind(&self, gvk: &GroupVersionKind) -> bool {
        self.stores.iter().any(|store| store.gvk == *gvk)
    }

    /// Waits for a change. A kind that can no longer be watched keeps its last state.
    pub(crate) async fn changed(&mut self) {
        if self.watches.is_none() {
            self.watches = Some(self.open().await);
        }
        let Some(watches) = &mut self.watches else { return };
        let Some((kind, event)) = watches.next().await else { return std::future::pending().await };
        self.stores[kind].update(event);
        let end = tokio::time::Instant::now() + DEBOUNCE;
        while let Ok(Some((kind, event))) = tokio::time::timeout_at(end, watches.next()).await {
            self.stores[kind].update(event);
        }
    }

    async fn open(&self) -> Watches {
        let mut watches = SelectAll::new();
        for (index, store) in self.stores.iter().enumerate() {
            let from = Some(store.resource_version.clone());
            let Ok(watch) = self.session.watch(&store.gvk, self.selection.clone(), from).await else {
                continue;
            };
            let events = stream::unfold(watch, move |mut watch| async move {
                let event = watch.next().await.ok()?;
                Some(((index, event), watch))
            });
            watches.push(events.boxed());
        }
        watches
    }
}

impl Store {
    fn update(&mut self, event: WatchEvent) {
        match event {
            WatchEvent::Applied(mut object) => {
                object["apiVersion"] = self.gvk.api_version().to_string().into();
                object["kind"] = self.gvk.kind().into();
                self.objects.insert(uid(&object), object);
            }
            WatchEvent::Deleted(object) => drop(self.objects.remove(&uid(&object))),
            // All objects are sent again.
            WatchEvent::Expired => self.objects.clear(),
        }
    }
}

pub(crate) fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}
