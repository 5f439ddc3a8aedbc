//! Observes an XR: its composed resources, and what its functions required.

use std::collections::BTreeSet;
use std::sync::Arc;

use composition::composite::Composite;
use composition::composition::Composition;
use composition::health::{ReconcileFailure, Stage};
use composition::observed::{Observed, observe};
use composition::protocol::Object;
use composition::requeue::{ContentHash, Fingerprint};
use manifest::ObjectRef;
use serde_json::Value;

use super::Composer;
use crate::composition::watches::Scope;
use crate::runtime::store::{Key, Store};

impl Composer {
    /// A hash of everything that a reconcile of `xr` would see in stores.
    pub(super) fn fingerprint(
        &self,
        xr: &Object,
        revision: Option<&Composition>,
        required: &BTreeSet<Scope>,
    ) -> Fingerprint {
        fingerprint(xr, revision, &self.children(xr), &self.required(required))
    }

    /// The composed resources of `xr` that stores have.
    pub(super) fn children(&self, xr: &Object) -> Vec<ContentHash> {
        let refs = Composite::new(xr, self.layout).resource_refs();
        refs.iter().filter_map(|reference| content_hash(&*self.child(reference)?)).collect()
    }

    /// What stores have of what functions require.
    pub(super) fn required(&self, scopes: &BTreeSet<Scope>) -> Vec<ContentHash> {
        let watched = scopes.iter().filter_map(|scope| self.dependents.watched(scope));
        watched.flat_map(|watched| watched.store.state()).filter_map(|object| content_hash(&object)).collect()
    }

    /// A composed resource in the store of its kind.
    pub(super) fn child(&self, child: &ObjectRef) -> Option<Arc<Value>> {
        find(&self.dependents.watched(&Scope::composed(child))?.store, child)
    }

    /// The composed resources that exist. One that no store has is read: it may have lost its label, or the store may be
    /// behind. All of a kind whose store is in trouble are read.
    pub(super) async fn observe(&self, xr: &Object) -> Result<Observed, ReconcileFailure> {
        let mut read = Vec::new();
        for reference in Composite::new(xr, self.layout).resource_refs() {
            let scope = Scope::composed(&reference);
            let is_current =
                self.dependents.watched(&scope).is_some_and(|watched| watched.store.error().is_none());
            let found = match self.child(&reference).filter(|_| is_current) {
                Some(known) => known.as_object().cloned(),
                None => self.read_child(&reference).await?,
            };
            read.push((reference, found));
        }
        observe(xr, read).map_err(|error| {
            let text = format!("cannot get existing composed resources: {error}");
            ReconcileFailure::engine(Stage::Compose, "AnonymousResource", text)
        })
    }

    pub(super) async fn read_child(&self, reference: &ObjectRef) -> Result<Option<Object>, ReconcileFailure> {
        match self.engine.client.read(reference).await {
            // Without any version of its kind it does not exist either.
            Err(error) if error.is_kind_absent() => Ok(None),
            read => read.map_err(|error| {
                let what = "cannot get existing composed resources: cannot get composed resource";
                ReconcileFailure::engine(Stage::Compose, error.class(), format!("{what}: {}", error.text()))
            }),
        }
    }
}

/// A hash of what a reconcile sees, whether it comes from stores now or was given to functions before.
pub(super) fn fingerprint(
    xr: &Object,
    revision: Option<&Composition>,
    children: &[ContentHash],
    required: &[ContentHash],
) -> Fingerprint {
    let revision = revision.map(|revision| ContentHash::of(&revision.object));
    Fingerprint::of(xr, children.iter().chain(required).copied().chain(revision))
}

pub(super) fn content_hash(object: &Value) -> Option<ContentHash> {
    object.as_object().map(ContentHash::of)
}

/// The object in a store. Only the API server knows whether a kind is namespaced: a reference may lack a namespace where
/// the object is in `default`, or have one where the object has none.
fn find(store: &Store, reference: &ObjectRef) -> Option<Arc<Value>> {
    let key = Key::from(reference);
    store.get(&key).or_else(|| {
        let namespace = if key.namespace.is_some() { None } else { Some("default".to_owned()) };
        store.get(&Key { namespace, ..key })
    })
}
