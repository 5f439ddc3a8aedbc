//! An XR and where it keeps what belongs to the engine: directly under `spec`, or under `spec.crossplane`.

use std::collections::BTreeMap;

use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::object;
use crate::protocol::Object;

/// Crossplane's finalizer on XRs.
pub const FINALIZER: &str = "composite.apiextensions.crossplane.io";

/// Where an XR keeps the engine's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Scope `LegacyCluster`: directly under `spec`, with claims and connection secrets.
    Legacy,
    /// Scopes `Namespaced` and `Cluster`: under `spec.crossplane`.
    Modern,
}

impl Layout {
    /// The path of the object that holds the engine's fields.
    pub const fn path(self) -> &'static [&'static str] {
        match self {
            Self::Legacy => &["spec"],
            Self::Modern => &["spec", "crossplane"],
        }
    }
}

/// Whether an XR follows its Composition's newest revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum UpdatePolicy {
    #[default]
    Automatic,
    /// It stays with the revision it references.
    Manual,
}

impl UpdatePolicy {
    /// The policy as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Automatic => "Automatic",
            Self::Manual => "Manual",
        }
    }
}

/// An XR as the engine reads it.
#[derive(Clone, Copy, Debug)]
pub struct Composite<'a> {
    /// The object itself.
    pub object: &'a Object,
    /// Where it keeps the engine's fields.
    pub layout: Layout,
}

/// Whether a user has paused the reconciliation of an object of the engine, of whatever kind.
pub fn is_paused(object: &Object) -> bool {
    object::annotation(object, "crossplane.io/paused") == Some("true")
}

impl<'a> Composite<'a> {
    /// `object`, read with `layout`.
    pub fn new(object: &'a Object, layout: Layout) -> Self {
        Self { object, layout }
    }

    /// The name of the Composition it uses.
    pub fn composition_ref(self) -> Option<&'a str> {
        self.name_in("compositionRef")
    }

    /// The name of the CompositionRevision it uses.
    pub fn revision_ref(self) -> Option<&'a str> {
        self.name_in("compositionRevisionRef")
    }

    /// The labels its Composition has to carry; `None` if it has no selector.
    pub fn composition_selector(self) -> Option<BTreeMap<String, String>> {
        self.labels_in("compositionSelector")
    }

    /// The labels its CompositionRevision has to carry; `None` if it has no selector.
    pub fn revision_selector(self) -> Option<BTreeMap<String, String>> {
        self.labels_in("compositionRevisionSelector")
    }

    /// Its update policy; `None` if it has none, which is not the same as automatic everywhere.
    pub fn update_policy(self) -> Option<UpdatePolicy> {
        match self.field("compositionUpdatePolicy")?.as_str()? {
            "Manual" => Some(UpdatePolicy::Manual),
            _ => Some(UpdatePolicy::Automatic),
        }
    }

    /// What it is composed of. Entries that name no kind or no object refer to nothing and are left out.
    ///
    /// A namespaced XR composes in its own namespace only, regardless of what a reference says.
    pub fn resource_refs(self) -> Vec<ObjectRef> {
        let own = object::namespace(self.object);
        let read = |entry: &Value| {
            let mut reference = read_reference(entry)?;
            if let Some(own) = own {
                reference.namespace = Namespace::new(own);
            }
            Some(reference)
        };
        let refs = self.field("resourceRefs").and_then(Value::as_array);
        refs.into_iter().flatten().filter_map(read).collect()
    }

    /// The claim it serves; only legacy XRs have one.
    pub fn claim_ref(self) -> Option<ObjectRef> {
        if self.layout == Layout::Modern {
            return None;
        }
        read_reference(self.field("claimRef")?)
    }

    /// Namespace and name of the Secret for its connection details; only legacy XRs have one.
    pub fn connection_secret(self) -> Option<(&'a str, &'a str)> {
        if self.layout == Layout::Modern {
            return None;
        }
        let reference = self.field("writeConnectionSecretToRef")?;
        let part = |key: &str| reference.get(key).and_then(Value::as_str);
        Some((part("namespace")?, part("name")?))
    }

    /// The condition types its claim shows; only legacy XRs have them.
    pub fn claim_condition_types(self) -> Vec<String> {
        if self.layout == Layout::Modern {
            return Vec::new();
        }
        object::texts(self.object, &["status", "claimConditionTypes"])
    }

    pub fn is_paused(self) -> bool {
        is_paused(self.object)
    }

    /// The token of a request to reconcile that has not been handled.
    pub fn reconcile_request(self) -> Option<&'a str> {
        let handled = object::text(self.object, &["status", "crossplane", "lastHandledReconcileAt"]);
        object::annotation(self.object, "crossplane.io/reconcile-requested-at")
            .filter(|token| handled != Some(*token))
    }

    /// The engine's field called `key`.
    pub fn field(self, key: &str) -> Option<&'a Value> {
        object::nested(self.object, self.layout.path())?.get(key)
    }

    fn name_in(self, key: &str) -> Option<&'a str> {
        self.field(key)?.get("name")?.as_str().filter(|name| !name.is_empty())
    }

    fn labels_in(self, key: &str) -> Option<BTreeMap<String, String>> {
        let labels = self.field(key)?.get("matchLabels").and_then(Value::as_object);
        let pair = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        Some(labels.into_iter().flatten().filter_map(pair).collect())
    }
}

/// A reference as objects write it; `None` if it names no kind or no object.
fn read_reference(written: &Value) -> Option<ObjectRef> {
    let gvk = GroupVersionKind::of(written.as_object()?).ok()?;
    let part = |key: &str| written.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    Some(ObjectRef::new(gvk, part("namespace").and_then(Namespace::new), part("name")?))
}

/// The XR reduced to its kind and name: the start of every apply.
pub fn identity(xr: &Object) -> Object {
    let mut metadata = Object::new();
    for key in ["name", "namespace"] {
        if let Some(value) = object::nested(xr, &["metadata", key]) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    object::object(json!({"apiVersion": xr.get("apiVersion"), "kind": xr.get("kind"), "metadata": metadata}))
}

/// The apply that makes an XR reference exactly `composed`. It comes before anything is created, so that no child is
/// ever without a reference, and after garbage is deleted, so that none is forgotten.
pub fn refs_intent<'a>(xr: Composite<'_>, composed: impl IntoIterator<Item = &'a ObjectRef>) -> Object {
    let namespaced = object::namespace(xr.object).is_some();
    // The schema of a namespaced XR has no such field.
    let namespace = |reference: &'a ObjectRef| reference.namespace.as_ref().filter(|_| !namespaced);
    let order = |reference: &&'a ObjectRef| {
        let namespace = namespace(reference).map_or("", Namespace::as_str);
        format!("{}{}{}{namespace}", reference.api_version(), reference.kind(), reference.name)
    };
    let mut refs: Vec<&ObjectRef> = composed.into_iter().collect();
    refs.sort_by_key(order);
    let entry = |reference: &'a ObjectRef| {
        let mut entry = object::reference(reference);
        if let Some(namespace) = namespace(reference) {
            entry["namespace"] = namespace.as_str().into();
        }
        entry
    };
    let refs: Value = refs.into_iter().map(entry).collect();
    let mut intent = identity(xr.object);
    object::nested_mut(&mut intent, xr.layout.path()).insert("resourceRefs".to_owned(), refs);
    intent
}

#[cfg(test)]
mod tests;
