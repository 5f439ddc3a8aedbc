//! The Compositions and revisions of the cluster, as watches and our own writes report them.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use composition::catalogue::{self, composition_of};
use composition::composition::Composition;
use composition::object;
use composition::protocol::Object;
use serde_json::Value;
use tokio::sync::broadcast;

use crate::runtime::store::{Change, Key};

/// How many changes a subscriber may miss before it has to look at everything.
const BACKLOG: usize = 256;

pub(crate) struct Catalogue {
    content: RwLock<catalogue::Catalogue>,
    changes: broadcast::Sender<Arc<str>>,
}

impl Catalogue {
    pub(crate) fn new() -> Self {
        Self { content: RwLock::default(), changes: broadcast::channel(BACKLOG).0 }
    }

    /// All of them. Changes wait while it is held.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, catalogue::Catalogue> {
        self.content.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The Composition called `name`, whichever type it is for.
    pub(crate) fn composition(&self, name: &str) -> Option<Composition> {
        self.read().composition(name).cloned()
    }

    pub(crate) fn revision(&self, name: &str) -> Option<Composition> {
        self.read().revision(name).cloned()
    }

    /// The names of Compositions as they or their revisions change. A subscriber that lags has to look at all of them.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Arc<str>> {
        self.changes.subscribe()
    }

    pub(super) fn composition_changed(&self, change: &Change) {
        let read = read(change, Composition::read);
        self.write().put_composition(&change.key.name, read);
        self.notify(&change.key.name);
    }

    pub(super) fn revision_changed(&self, change: &Change) {
        let named = |revision: &Option<Arc<Value>>| {
            composition_of(revision.as_ref()?.as_object()?).map(str::to_owned)
        };
        let (before, after) = (named(&change.before), named(&change.after));
        let read = read(change, Composition::read_revision);
        if !self.write().put_revision(&change.key.name, read) {
            return;
        }
        let moved = before.clone().filter(|before| Some(before) != after.as_ref());
        for composition in after.into_iter().chain(moved) {
            self.notify(&composition);
        }
    }

    /// Records the response to a write ahead of the watch.
    pub(super) fn revision_written(&self, revision: Object) {
        let key = Key::cluster_scoped(object::name(&revision).unwrap_or_default());
        let after = Some(Arc::new(Value::Object(revision)));
        self.revision_changed(&Change { key, before: None, after });
    }

    fn notify(&self, composition: &str) {
        // There are no subscribers while no XRD is established.
        let _ = self.changes.send(composition.into());
    }

    fn write(&self) -> RwLockWriteGuard<'_, catalogue::Catalogue> {
        self.content.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The Composition after a change, if it is valid.
fn read(
    change: &Change,
    read: fn(&Object) -> Result<Composition, Vec<diag::Diagnostic>>,
) -> Option<Composition> {
    match read(change.after.as_ref()?.as_object()?) {
        Ok(composition) => Some(composition),
        Err(found) => {
            let why: Vec<String> = found.iter().map(|diagnostic| diagnostic.summary.clone()).collect();
            tracing::warn!(name = %change.key, why = why.join("; "), "cannot use a Composition");
            None
        }
    }
}

#[cfg(test)]
mod tests;
