//! Compositions and their revisions as they are now, read once per change instead of once per pass.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use compose::composition::Composition;
use compose::object;
use compose::object::TypeRef;
use compose::revision::LABEL_COMPOSITION;
use tokio::sync::broadcast;

/// How many changes a subscriber may be behind before it has to look at everything.
const BACKLOG: usize = 256;

/// Compositions and their revisions.
pub(crate) struct Catalogue {
    content: RwLock<Content>,
    changes: broadcast::Sender<Arc<str>>,
}

#[derive(Default)]
struct Content {
    compositions: BTreeMap<String, Composition>,
    revisions: BTreeMap<String, Composition>,
    /// What is handed out, made when first asked for after a change.
    by_type: BTreeMap<TypeRef, Arc<Vec<Composition>>>,
    by_composition: BTreeMap<String, Arc<Vec<Composition>>>,
}

impl Catalogue {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self { content: RwLock::default(), changes: broadcast::channel(BACKLOG).0 }
    }

    /// The Compositions for XRs of `kind`, by name.
    pub(crate) fn compositions(&self, kind: &TypeRef) -> Arc<Vec<Composition>> {
        let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        let Content { compositions, by_type, .. } = &mut *content;
        let made = || {
            let fits = |composition: &&Composition| composition.spec.composite_type() == *kind;
            Arc::new(compositions.values().filter(fits).cloned().collect())
        };
        Arc::clone(by_type.entry(kind.clone()).or_insert_with(made))
    }

    /// The Composition called `name`, whichever type it is for.
    pub(crate) fn composition(&self, name: &str) -> Option<Composition> {
        let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        content.compositions.get(name).cloned()
    }

    /// The revisions that carry the name of this Composition, by name.
    pub(crate) fn revisions(&self, composition: &str) -> Arc<Vec<Composition>> {
        let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        let Content { revisions, by_composition, .. } = &mut *content;
        let made = || {
            let is_of = |revision: &&Composition| {
                object::label(&revision.object, LABEL_COMPOSITION) == Some(composition)
            };
            Arc::new(revisions.values().filter(is_of).cloned().collect())
        };
        Arc::clone(by_composition.entry(composition.to_owned()).or_insert_with(made))
    }

    /// The names of Compositions as they or their revisions change. A subscriber that falls behind has to look at all.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Arc<str>> {
        self.changes.subscribe()
    }
}
