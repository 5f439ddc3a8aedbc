//! Observes an XR: its composed resources, their connection details, and what its functions required.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use composition::composite::Composite;
use composition::composition::Composition;
use composition::connection;
use composition::health::{ReconcileFailure, Stage};
use composition::object;
use composition::observed::{Observed, observe};
use composition::protocol::{Object, SecretData, State};
use composition::requeue::Fingerprint;
use manifest::ObjectRef;
use serde_json::Value;

use super::Composer;
use crate::composition::watches::Scope;
use crate::runtime::client::ApiError;
use crate::runtime::store::{Key, Store};

impl Composer {
    /// A hash of everything that a reconcile of `xr` would see in stores.
    pub(super) fn fingerprint(
        &self,
        xr: &Object,
        revision: Option<&Composition>,
        required: &BTreeSet<Scope>,
    ) -> Fingerprint {
        let refs = Composite::new(xr, self.layout).resource_refs();
        let children: Vec<Arc<Value>> = refs.iter().filter_map(|reference| self.child(reference)).collect();
        let required: Vec<Arc<Value>> = required
            .iter()
            .filter_map(|scope| self.dependents.watched(scope))
            .flat_map(|watched| watched.store.state())
            .collect();
        let objects = children.iter().chain(&required).filter_map(|object| object.as_object());
        Fingerprint::of(xr, objects.chain(revision.map(|revision| &revision.object)))
    }

    /// A composed resource in the store of its kind.
    pub(super) fn child(&self, child: &ObjectRef) -> Option<Arc<Value>> {
        let scope = Scope::composed(child.gvk.clone());
        find(&self.dependents.watched(&scope)?.store, child)
    }

    /// The composed resources that exist. One that no store has is read: it may have lost its label, or the store may be
    /// behind. All of a kind whose store is in trouble are read.
    pub(super) async fn observe(&self, xr: &Object) -> Result<Observed, ReconcileFailure> {
        let mut read = Vec::new();
        for reference in Composite::new(xr, self.layout).resource_refs() {
            let scope = Scope::composed(reference.gvk.clone());
            let is_current =
                self.dependents.watched(&scope).is_some_and(|watched| watched.store.error().is_none());
            let found = match self.child(&reference).filter(|_| is_current) {
                Some(known) => known.as_object().cloned(),
                None => self.read_child(&reference).await?,
            };
            read.push((reference, found));
        }
        let uid = object::uid(xr).unwrap_or_default();
        observe(uid, read).map_err(|error| {
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

    /// The observed state for the functions.
    pub(super) async fn state(
        &self,
        xr: &Object,
        observed: &Observed,
    ) -> Result<Arc<State>, ReconcileFailure> {
        let mut own = SecretData::default();
        if let Some((namespace, name)) = Composite::new(xr, self.layout).connection_secret() {
            own = self.connection(namespace, name).await.map_err(|error| {
                let text = format!("cannot fetch composite resource connection details: {}", error.text());
                ReconcileFailure::engine(Stage::Compose, error.class(), text)
            })?;
        }
        let mut details = BTreeMap::new();
        for (key, child) in &observed.resources {
            let Some((namespace, name)) = secret_of(child) else { continue };
            let found = self.connection(namespace, name).await.map_err(|error| {
                let kind = child.get("kind").and_then(Value::as_str).unwrap_or_default();
                let name = object::name(child).unwrap_or_default();
                let text = format!(
                    "cannot fetch connection details for composed resource {key:?} (a {kind} named {name}): {}",
                    error.text()
                );
                ReconcileFailure::engine(Stage::Compose, error.class(), text)
            })?;
            details.insert(key.clone(), found);
        }
        Ok(Arc::new(observed.state(xr, own, details)))
    }

    /// The data of a connection Secret; empty while it does not exist.
    async fn connection(&self, namespace: &str, name: &str) -> Result<SecretData, ApiError> {
        let secret = self.engine.client.read(&connection::secret_ref(namespace, name)).await?;
        Ok(secret.map(|secret| connection::data(&secret)).unwrap_or_default())
    }
}

/// The Secret with the connection details of a managed resource or nested XR; in its own namespace if it has one.
fn secret_of(child: &Object) -> Option<(&str, &str)> {
    let reference = object::nested(child, &["spec", "writeConnectionSecretToRef"])?;
    let part = |key: &str| reference.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    Some((part("namespace").or_else(|| object::namespace(child))?, part("name")?))
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
