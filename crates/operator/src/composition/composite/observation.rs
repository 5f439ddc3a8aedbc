//! What there is of an XR: its children, what they say about connections, and what its functions required.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use composition::composite::Composite;
use composition::composition::Composition;
use composition::connection;
use composition::health::{PassFailure, Stage};
use composition::object;
use composition::observed::{Observed, observe};
use composition::pass::Fingerprint;
use composition::run::{Object, SecretData, State};
use manifest::{Namespace, ObjectRef};
use serde_json::Value;

use super::Composer;
use crate::composition::children::Scope;
use crate::composition::writer::said;
use crate::store::Store;

impl Composer {
    /// Everything a pass over `xr` would see, as far as it is known without asking.
    pub(super) fn look(
        &self,
        xr: &Object,
        revision: Option<&Composition>,
        required: &BTreeSet<Scope>,
    ) -> Fingerprint {
        let refs = Composite::new(xr, self.layout).resource_refs();
        let children: Vec<Arc<Value>> = refs.iter().filter_map(|reference| self.known(reference)).collect();
        let required: Vec<Arc<Value>> = required
            .iter()
            .filter_map(|scope| self.dependents.watched(scope))
            .flat_map(|watched| watched.store.all())
            .collect();
        let objects = children.iter().chain(&required).filter_map(|object| object.as_object());
        Fingerprint::of(xr, objects.chain(revision.map(|revision| &revision.object)))
    }

    /// A child as the live copy of its kind has it.
    pub(super) fn known(&self, child: &ObjectRef) -> Option<Arc<Value>> {
        let scope = Scope::composed(child.gvk.clone());
        find(&self.dependents.watched(&scope)?.store, child)
    }

    /// What of an XR's references is there. What no live copy has is asked for: it may have lost its label, or the copy
    /// may be behind.
    pub(super) async fn observe(&self, xr: &Object) -> Result<Observed, PassFailure> {
        let mut read = Vec::new();
        for reference in Composite::new(xr, self.layout).resource_refs() {
            let found = match self.known(&reference) {
                Some(known) => known.as_object().cloned(),
                None => self.ask_for(&reference).await?,
            };
            read.push((reference, found));
        }
        let uid = object::uid(xr).unwrap_or_default();
        observe(uid, read).map_err(|error| {
            let text = format!("cannot get existing composed resources: {error}");
            PassFailure::engine(Stage::Compose, "AnonymousResource", text)
        })
    }

    async fn ask_for(&self, reference: &ObjectRef) -> Result<Option<Object>, PassFailure> {
        let unreadable = |class: String, text: String| {
            let text =
                format!("cannot get existing composed resources: cannot get composed resource: {text}");
            PassFailure::engine(Stage::Compose, class, text)
        };
        match self.engine.session.read(reference).await {
            Ok(reply) => Ok(reply.map(|reply| object::from_value(reply.object))),
            // Without its kind it does not exist either.
            Err(error) if error.class() == cluster::Class::KindMissing => Ok(None),
            Err(error) => Err(unreadable(format!("{:?}", error.class()), said(&error))),
        }
    }

    /// What the functions are told is there.
    pub(super) async fn state(&self, xr: &Object, observed: &Observed) -> Result<Arc<State>, PassFailure> {
        let mut own = SecretData::default();
        if let Some((namespace, name)) = Composite::new(xr, self.layout).connection_secret() {
            own = self.connection(namespace, name).await.map_err(|(class, text)| {
                let text = format!("cannot fetch composite resource connection details: {text}");
                PassFailure::engine(Stage::Compose, class, text)
            })?;
        }
        let mut details = BTreeMap::new();
        for (key, child) in &observed.resources {
            let Some((namespace, name)) = secret_of(child) else { continue };
            let found = self.connection(namespace, name).await.map_err(|(class, text)| {
                let kind = child.get("kind").and_then(Value::as_str).unwrap_or_default();
                let name = object::name(child).unwrap_or_default();
                let text = format!(
                    "cannot fetch connection details for composed resource {key:?} (a {kind} named {name}): {text}",
                );
                PassFailure::engine(Stage::Compose, class, text)
            })?;
            details.insert(key.clone(), found);
        }
        Ok(Arc::new(observed.state(xr, own, details)))
    }

    /// What a connection Secret holds; nothing as long as there is none.
    async fn connection(&self, namespace: &str, name: &str) -> Result<SecretData, (String, String)> {
        match self.engine.session.read(&connection::secret_ref(namespace, name)).await {
            Ok(found) => {
                Ok(found.map(|reply| connection::data(&object::from_value(reply.object))).unwrap_or_default())
            }
            Err(error) => Err((format!("{:?}", error.class()), said(&error))),
        }
    }
}

/// Where a managed resource or nested XR writes its connection details: a namespaced one beside itself.
fn secret_of(child: &Object) -> Option<(&str, &str)> {
    let reference = object::nested(child, &["spec", "writeConnectionSecretToRef"])?;
    let part = |key: &str| reference.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    Some((part("namespace").or_else(|| object::namespace(child))?, part("name")?))
}

/// The object in a live copy. Whether a kind has namespaces is for the API server to know: a reference may lack one where
/// the object has the default, or have one where the object has none.
pub(super) fn find(store: &Store, reference: &ObjectRef) -> Option<Arc<Value>> {
    let namespace = reference.namespace.as_ref().map(Namespace::as_str);
    store.get(namespace, &reference.name).or_else(|| {
        let other = if namespace.is_some() { None } else { Some("default") };
        store.get(other, &reference.name)
    })
}
