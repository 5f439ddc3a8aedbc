//! Compositions and their revisions as they are now, read once per change instead of once per pass.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use composition::composition::Composition;
use composition::object;
use composition::revision::LABEL_COMPOSITION;
use composition::run::Object;
use manifest::GroupVersionKind;
use serde_json::Value;
use tokio::sync::broadcast;

use crate::store::{Change, Key};

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
    by_type: BTreeMap<GroupVersionKind, Arc<Vec<Composition>>>,
    by_composition: BTreeMap<String, Arc<Vec<Composition>>>,
}

impl Catalogue {
    /// An empty one.
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

    /// The revisions that carry the name of this Composition, by name.
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

    /// The revision called `name`.
    pub(crate) fn revision(&self, name: &str) -> Option<Composition> {
        let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        content.revisions.get(name).cloned()
    }

    /// The names of all revisions that run one of `functions`.
    pub(crate) fn revisions_with(&self, function: &str) -> Vec<String> {
        let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        let runs = |revision: &Composition| {
            revision.spec.pipeline.iter().any(|step| step.function_ref.name == function)
        };
        let running = content.revisions.iter().filter(|(_, revision)| runs(revision));
        running.map(|(name, _)| name.clone()).collect()
    }

    /// The names of Compositions as they or their revisions change. A subscriber that falls behind has to look at all.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Arc<str>> {
        self.changes.subscribe()
    }

    /// Takes in what became of a Composition.
    pub(super) fn composition_changed(&self, change: &Change) {
        let read = read(change, Composition::read);
        {
            let mut content = self.write();
            content.by_type.clear();
            put(&mut content.compositions, &change.key.name, read);
        }
        self.tell(&change.key.name);
    }

    /// Takes in what became of a revision.
    pub(super) fn revision_changed(&self, change: &Change) {
        let read = read(change, Composition::read_revision);
        let named = |revision: &Option<Arc<Value>>| composition_named(revision.as_ref()?);
        let (before, after) = (named(&change.before), named(&change.after));
        {
            let mut content = self.write();
            // The watch tells of a write after its answer has.
            let known = content.revisions.get(&change.key.name).and_then(|known| version(&known.object));
            let told = read.as_ref().and_then(|told| version(&told.object));
            if told < known && read.is_some() {
                return;
            }
            content.by_composition.clear();
            put(&mut content.revisions, &change.key.name, read);
        }
        let moved = before.clone().filter(|before| Some(before) != after.as_ref());
        for composition in after.into_iter().chain(moved) {
            self.tell(&composition);
        }
    }

    /// Takes in a revision as a write has just answered, ahead of the watch.
    pub(super) fn revision_written(&self, revision: Object) {
        let key = Key { namespace: None, name: object::name(&revision).unwrap_or_default().to_owned() };
        let after = Some(Arc::new(Value::Object(revision)));
        self.revision_changed(&Change { key, before: None, after });
    }

    fn tell(&self, composition: &str) {
        // Nobody listens while no XRD is established.
        let _ = self.changes.send(composition.into());
    }

    fn write(&self) -> RwLockWriteGuard<'_, Content> {
        self.content.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What there is after a change, if it makes sense.
fn read(
    change: &Change,
    read: fn(&Object) -> Result<Composition, Vec<diag::Diagnostic>>,
) -> Option<Composition> {
    match read(change.after.as_ref()?.as_object()?) {
        Ok(composition) => Some(composition),
        Err(found) => {
            let why: Vec<String> = found.iter().map(|diagnostic| diagnostic.summary.clone()).collect();
            tracing::warn!(name = %change.key, why = why.join("; "), "a Composition cannot be used");
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

/// Versions of one object are numbers that grow (Kubernetes API concepts, resource versions).
fn version(object: &Object) -> Option<u64> {
    object::nested(object, &["metadata", "resourceVersion"])?.as_str()?.parse().ok()
}

/// The name of the Composition a revision is of.
pub(super) fn composition_named(revision: &Value) -> Option<String> {
    object::label(revision.as_object()?, LABEL_COMPOSITION).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(before: Option<&Value>, after: Option<&Value>) -> Change {
        let key = Key::of(after.or(before).unwrap());
        Change { key, before: before.cloned().map(Arc::new), after: after.cloned().map(Arc::new) }
    }

    fn composition(name: &str, kind: &str) -> Value {
        json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": name},
            "spec": {
                "compositeTypeRef": {"apiVersion": "example.org/v1", "kind": kind},
                "pipeline": [{"step": "one", "functionRef": {"name": "function-a"}}],
            },
        })
    }

    fn revision(name: &str, composition_name: &str) -> Value {
        let mut revision = composition(name, "XApp");
        revision["kind"] = "CompositionRevision".into();
        revision["metadata"]["labels"] = json!({LABEL_COMPOSITION: composition_name});
        revision["spec"]["revision"] = 1.into();
        revision
    }

    fn names(of: &[Composition]) -> Vec<&str> {
        of.iter().filter_map(|composition| object::name(&composition.object)).collect()
    }

    #[test]
    fn what_is_handed_out_follows_the_changes() {
        let catalogue = Catalogue::new();
        let kind = "example.org/v1/XApp".parse().unwrap();
        assert!(catalogue.compositions(&kind).is_empty());
        let (app, other) = (composition("app", "XApp"), composition("other", "XOther"));
        catalogue.composition_changed(&change(None, Some(&app)));
        catalogue.composition_changed(&change(None, Some(&other)));
        assert_eq!(names(&catalogue.compositions(&kind)), ["app"]);
        assert!(catalogue.composition("other").is_some());
        let mut broken = app.clone();
        broken["spec"]["mode"] = "Resources".into();
        catalogue.composition_changed(&change(Some(&app), Some(&broken)));
        assert!(catalogue.compositions(&kind).is_empty());

        assert!(catalogue.revisions("app").is_empty());
        let first = revision("app-1", "app");
        catalogue.revision_changed(&change(None, Some(&first)));
        assert_eq!(names(&catalogue.revisions("app")), ["app-1"]);
        assert_eq!(catalogue.revisions_with("function-a"), ["app-1"]);
        assert!(catalogue.revisions_with("function-b").is_empty());
        catalogue.revision_changed(&change(Some(&first), None));
        assert!(catalogue.revisions("app").is_empty());
        assert!(catalogue.revision("app-1").is_none());
    }

    #[test]
    fn what_a_write_has_answered_is_not_undone_by_an_older_event() {
        let catalogue = Catalogue::new();
        let at = |version: &str, number: i64| {
            let mut revision = revision("app-1", "app");
            revision["metadata"]["resourceVersion"] = version.into();
            revision["spec"]["revision"] = number.into();
            revision
        };
        let number = || catalogue.revision("app-1").map(|revision| revision.spec.revision);
        catalogue.revision_written(at("10", 2).as_object().unwrap().clone());
        catalogue.revision_changed(&change(None, Some(&at("9", 1))));
        assert_eq!(number(), Some(2));
        catalogue.revision_changed(&change(None, Some(&at("11", 3))));
        assert_eq!(number(), Some(3));
        catalogue.revision_changed(&change(Some(&at("11", 3)), None));
        assert_eq!(number(), None);
    }

    #[test]
    fn subscribers_hear_the_names_of_compositions() {
        let catalogue = Catalogue::new();
        let mut heard = catalogue.changes();
        catalogue.composition_changed(&change(None, Some(&composition("app", "XApp"))));
        let (first, moved) = (revision("app-1", "app"), revision("app-1", "renamed"));
        catalogue.revision_changed(&change(None, Some(&first)));
        catalogue.revision_changed(&change(Some(&first), Some(&moved)));
        let mut names = Vec::new();
        while let Ok(name) = heard.try_recv() {
            names.push(name.to_string());
        }
        assert_eq!(names, ["app", "app", "renamed", "app"]);
    }
}
