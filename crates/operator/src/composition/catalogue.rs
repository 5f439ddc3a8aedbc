//! Compositions and their revisions, parsed once per change instead of once per reconcile.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use composition::composition::Composition;
use composition::object;
use composition::protocol::Object;
use composition::revision::LABEL_COMPOSITION;
use manifest::GroupVersionKind;
use serde_json::Value;
use tokio::sync::broadcast;

use crate::runtime::store::{Change, Key};

/// How many changes a subscriber may miss before it has to look at everything.
const BACKLOG: usize = 256;

pub(crate) struct Catalogue {
    content: RwLock<Content>,
    changes: broadcast::Sender<Arc<str>>,
}

#[derive(Default)]
struct Content {
    compositions: BTreeMap<String, Composition>,
    revisions: BTreeMap<String, Composition>,
    /// Made when first asked for after a change.
    by_type: BTreeMap<GroupVersionKind, Arc<Vec<Composition>>>,
    by_composition: BTreeMap<String, Arc<Vec<Composition>>>,
}

impl Catalogue {
    pub(crate) fn new() -> Self {
        Self { content: RwLock::default(), changes: broadcast::channel(BACKLOG).0 }
    }

    /// The Compositions for XRs of `kind`, by name.
    pub(crate) fn compositions(&self, kind: &GroupVersionKind) -> Arc<Vec<Composition>> {
        let mut content = self.write();
        let Content { compositions, by_type, .. } = &mut *content;
        let made = || {
            let fits = |composition: &&Composition| composition.spec.composite_type_ref == *kind;
            Arc::new(compositions.values().filter(fits).cloned().collect())
        };
        Arc::clone(by_type.entry(kind.clone()).or_insert_with(made))
    }

    /// The Composition called `name`, whichever type it is for.
    pub(crate) fn composition(&self, name: &str) -> Option<Composition> {
        let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        content.compositions.get(name).cloned()
    }

    /// The revisions of a Composition, by name.
    pub(crate) fn revisions(&self, composition: &str) -> Arc<Vec<Composition>> {
        let mut content = self.write();
        let Content { revisions, by_composition, .. } = &mut *content;
        let made = || {
            let is_of = |revision: &&Composition| {
                object::label(&revision.object, LABEL_COMPOSITION) == Some(composition)
            };
            Arc::new(revisions.values().filter(is_of).cloned().collect())
        };
        Arc::clone(by_composition.entry(composition.to_owned()).or_insert_with(made))
    }

    pub(crate) fn revision(&self, name: &str) -> Option<Composition> {
        let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        content.revisions.get(name).cloned()
    }

    /// The names of all revisions that run `function`.
    pub(crate) fn revisions_with(&self, function: &str) -> Vec<String> {
        let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        let runs = |revision: &Composition| {
            revision.spec.pipeline.iter().any(|step| step.function_ref.name == function)
        };
        let running = content.revisions.iter().filter(|(_, revision)| runs(revision));
        running.map(|(name, _)| name.clone()).collect()
    }

    /// The names of Compositions as they or their revisions change. A subscriber that lags has to look at all of them.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Arc<str>> {
        self.changes.subscribe()
    }

    pub(super) fn composition_changed(&self, change: &Change) {
        let read = read(change, Composition::read);
        {
            let mut content = self.write();
            content.by_type.clear();
            put(&mut content.compositions, &change.key.name, read);
        }
        self.notify(&change.key.name);
    }

    pub(super) fn revision_changed(&self, change: &Change) {
        let read = read(change, Composition::read_revision);
        let named = |revision: &Option<Arc<Value>>| composition_of(revision.as_ref()?.as_object()?);
        let (before, after) = (named(&change.before), named(&change.after));
        {
            let mut content = self.write();
            // The response to a write comes before the watch event.
            let known = content.revisions.get(&change.key.name).and_then(|known| version(&known.object));
            let new = read.as_ref().and_then(|new| version(&new.object));
            if new < known && read.is_some() {
                return;
            }
            content.by_composition.clear();
            put(&mut content.revisions, &change.key.name, read);
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

    fn write(&self) -> RwLockWriteGuard<'_, Content> {
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

fn put(into: &mut BTreeMap<String, Composition>, name: &str, composition: Option<Composition>) {
    match composition {
        Some(composition) => {
            into.insert(name.to_owned(), composition);
        }
        None => {
            into.remove(name);
        }
    }
}

/// Resource versions of one kind are growing numbers.
fn version(object: &Object) -> Option<u64> {
    object::nested(object, &["metadata", "resourceVersion"])?.as_str()?.parse().ok()
}

/// The name of the Composition that a revision belongs to.
pub(super) fn composition_of(revision: &Object) -> Option<String> {
    object::label(revision, LABEL_COMPOSITION).map(str::to_owned)
}

#[cfg(test)]
mod tests;
