//! Which XRs depend on an object, and are reconciled when it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Scope, Watched, Watches};
use crate::runtime::metrics::Metrics;
use crate::runtime::store::{Change, Key};
use crate::runtime::supervisor::supervise;

/// The XRs of one controller and the scopes they depend on.
pub(in crate::composition) struct Dependents {
    entries: Mutex<BTreeMap<Scope, Entry>>,
    on_change: Box<OnChange>,
    metrics: Metrics,
}

type OnChange = dyn Fn(Dependency, &Change) + Send + Sync;

/// How an object that changed concerns XRs.
#[derive(Debug)]
pub(in crate::composition) enum Dependency {
    /// It is composed; its controller reference names the XR.
    Composed,
    /// Functions of these XRs required it.
    Required(Vec<Key>),
}

struct Entry {
    watched: Arc<Watched>,
    users: BTreeSet<Key>,
    _watching: DropGuard,
}

impl Dependents {
    /// `on_change` is called for every change.
    pub(in crate::composition) fn new(
        metrics: Metrics,
        on_change: impl Fn(Dependency, &Change) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { entries: Mutex::default(), on_change: Box::new(on_change), metrics })
    }

    /// From now on `xr` depends on `scopes`, and on nothing else. A scope without dependents is no longer watched.
    pub(in crate::composition) fn depend(
        self: &Arc<Self>,
        watches: &Watches,
        xr: &Key,
        scopes: &BTreeSet<Scope>,
    ) {
        let mut entries = self.lock();
        entries.retain(|scope, entry| {
            if !scopes.contains(scope) {
                entry.users.remove(xr);
            }
            !entry.users.is_empty() || scopes.contains(scope)
        });
        for scope in scopes {
            let entry = entries.entry(scope.clone()).or_insert_with(|| self.open(watches, scope));
            entry.users.insert(xr.clone());
        }
    }

    pub(in crate::composition) fn forget(self: &Arc<Self>, watches: &Watches, xr: &Key) {
        self.depend(watches, xr, &BTreeSet::new());
    }

    /// The store of `scope`, if an XR depends on it.
    pub(in crate::composition) fn watched(&self, scope: &Scope) -> Option<Arc<Watched>> {
        self.lock().get(scope).map(|entry| Arc::clone(&entry.watched))
    }

    fn open(self: &Arc<Self>, watches: &Watches, scope: &Scope) -> Entry {
        let watched = watches.open(scope);
        let stop = CancellationToken::new();
        let watching = stop.clone().drop_guard();
        let (dependents, scope) = (Arc::downgrade(self), scope.clone());
        let store = watched.store.clone();
        let metrics = self.metrics.clone();
        tokio::spawn(async move {
            let follow = || async {
                store.wait_until_synced().await;
                let mut changes = store.subscribe();
                while let Some(change) = changes.recv().await {
                    let Some(dependents) = dependents.upgrade() else { return };
                    dependents.changed(&scope, &change);
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = supervise("dependents", &metrics, &stop, follow) => {}
            }
        });
        Entry { watched, users: BTreeSet::new(), _watching: watching }
    }

    fn changed(&self, scope: &Scope, change: &Change) {
        let dependency = if scope.is_composed() {
            Dependency::Composed
        } else {
            let users = self.lock().get(scope).map(|entry| entry.users.iter().cloned().collect());
            Dependency::Required(users.unwrap_or_default())
        };
        (self.on_change)(dependency, change);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Scope, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
