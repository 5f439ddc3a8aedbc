//! Who depends on what: which XRs are to be gone over when an object changes.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Scope, Watched, Watches};
use crate::store::{Change, Key};

/// The XRs of one controller and the scopes they depend on.
pub(in crate::composition) struct Dependents {
    entries: Mutex<HashMap<Scope, Entry>>,
    hear: Box<Hear>,
}

/// Told of every change.
type Hear = dyn Fn(Dependency, &Change) + Send + Sync;

/// How what has changed concerns XRs.
#[derive(Debug)]
pub(in crate::composition) enum Dependency {
    /// It is composed, and says itself by whom.
    Composed,
    /// These required it.
    Required(Vec<Key>),
}

struct Entry {
    watched: Arc<Watched>,
    users: BTreeSet<Key>,
    _hearing: DropGuard,
}

impl Dependents {
    /// Nobody depends on anything; `hear` is told of every change.
    pub(in crate::composition) fn new(
        hear: impl Fn(Dependency, &Change) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { entries: Mutex::default(), hear: Box::new(hear) })
    }

    /// From now on `xr` depends on `scopes`, and on nothing else. What nobody depends on any more is no longer watched.
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

    /// `xr` is gone.
    pub(in crate::composition) fn forget(self: &Arc<Self>, watches: &Watches, xr: &Key) {
        self.depend(watches, xr, &BTreeSet::new());
    }

    /// The live copy of `scope`, if somebody depends on it.
    pub(in crate::composition) fn watched(&self, scope: &Scope) -> Option<Arc<Watched>> {
        self.lock().get(scope).map(|entry| Arc::clone(&entry.watched))
    }

    fn open(self: &Arc<Self>, watches: &Watches, scope: &Scope) -> Entry {
        let watched = watches.open(scope);
        let stop = CancellationToken::new();
        let hearing = stop.clone().drop_guard();
        let (dependents, scope) = (Arc::downgrade(self), scope.clone());
        let store = watched.store.clone();
        tokio::spawn(async move {
            let follow = async {
                store.synced().await;
                let mut changes = store.subscribe();
                while let Some(change) = changes.recv().await {
                    let Some(dependents) = dependents.upgrade() else { return };
                    dependents.heard(&scope, &change);
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = follow => {}
            }
        });
        Entry { watched, users: BTreeSet::new(), _hearing: hearing }
    }

    fn heard(&self, scope: &Scope, change: &Change) {
        let dependency = if scope.which == super::Which::Composed {
            Dependency::Composed
        } else {
            let users = self.lock().get(scope).map(|entry| entry.users.iter().cloned().collect());
            Dependency::Required(users.unwrap_or_default())
        };
        (self.hear)(dependency, change);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Scope, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use cluster::Session;
    use serde_json::json;
    use tokio::sync::mpsc;

    use super::*;
    use crate::testing::{Answer, client};

    const MAPS: &str = "GET /api/v1/configmaps";

    fn key(name: &str) -> Key {
        Key { namespace: None, name: name.to_owned() }
    }

    #[tokio::test]
    async fn a_kind_is_watched_once_for_all_who_depend_on_it_and_no_longer_than_that() {
        let (client, journal) = client(|seen| {
            if seen.query.contains("watch=true") {
                return Answer::Silence;
            }
            let map =
                json!({"metadata": {"namespace": "shop", "name": "a", "uid": "a", "resourceVersion": "1"}});
            Answer::Json(
                200,
                json!({"kind": "ConfigMapList", "metadata": {"resourceVersion": "1"}, "items": [map]}),
            )
        });
        let watches = Watches::new(Session::new(client), CancellationToken::new());
        let (sender, mut heard) = mpsc::unbounded_channel();
        let dependents = Dependents::new(move |dependency, change: &Change| {
            let _sent = sender.send((format!("{dependency:?}"), change.key.to_string()));
        });
        let composed = BTreeSet::from([Scope::composed("v1/ConfigMap".parse().unwrap())]);
        dependents.depend(&watches, &key("one"), &composed);
        dependents.depend(&watches, &key("two"), &composed);
        assert_eq!(heard.recv().await.unwrap(), ("Composed".to_owned(), "shop/a".to_owned()));
        assert_eq!(journal.count(MAPS, "limit="), 1);

        let scope = composed.first().unwrap();
        dependents.forget(&watches, &key("one"));
        assert!(watches.existing(scope).is_some());
        dependents.forget(&watches, &key("two"));
        // The task that listens ends when it is next polled, and then lets go.
        while watches.existing(scope).is_some() {
            tokio::task::yield_now().await;
        }
    }
}
