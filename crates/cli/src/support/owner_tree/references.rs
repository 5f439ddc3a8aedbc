//! Which objects an object refers to as its own: what it is composed of, what an inventory lists, the volumes of a pod.

use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::Value;

use super::{array, inventories};

/// A reference from a claim to its composite, from a composite to its composed resources, or from an inventory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reference {
    pub(crate) target: ObjectRef,
    /// Whether the namespace of the target is set. Otherwise it is that of the object, or none.
    pub(crate) is_exact: bool,
}

impl Reference {
    /// Whether the target may be in this namespace, or in none.
    pub(crate) fn allows(&self, namespace: Option<&Namespace>) -> bool {
        namespace == self.target.namespace.as_ref() || (!self.is_exact && namespace.is_none())
    }
}

/// The objects that an object refers to as its own.
pub(super) fn of(object: &Value) -> Vec<Reference> {
    let mut references = composed(object);
    references.extend(inventories::listed(object));
    references.extend(volumes(object));
    references
}

/// The Secret with the connection details of a claim or a composite resource, which has no owner reference if it is in
/// another namespace.
pub(super) fn connection_secret(object: &Value) -> Option<Reference> {
    let reference = &object["spec"]["writeConnectionSecretToRef"];
    let own = &object["metadata"]["namespace"];
    let namespace = reference["namespace"].as_str().or(own.as_str()).and_then(Namespace::new)?;
    let gvk = "v1/Secret".parse().expect("a fixed kind");
    Some(Reference {
        target: ObjectRef::new(gvk, Some(namespace), reference["name"].as_str()?),
        is_exact: true,
    })
}

/// The PersistentVolumeClaims of a pod; those that a StatefulSet creates for its pods have no owner.
fn volumes(object: &Value) -> impl Iterator<Item = Reference> {
    let is_pod = object["apiVersion"] == "v1" && object["kind"] == "Pod";
    let namespace = object["metadata"]["namespace"].as_str().and_then(Namespace::new);
    let volumes = array(&object["spec"]["volumes"]).iter().filter(move |_| is_pod);
    let named = volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
    named.map(move |name| {
        let gvk = "v1/PersistentVolumeClaim".parse().expect("a fixed kind");
        Reference { target: ObjectRef::new(gvk, namespace.clone(), name), is_exact: true }
    })
}

/// Crossplane's references: `resourceRef` and `resourceRefs` under `spec` or `spec.crossplane`.
fn composed(object: &Value) -> Vec<Reference> {
    let own = object["metadata"]["namespace"].as_str();
    let places = [&object["spec"], &object["spec"]["crossplane"]];
    let single = places.iter().map(|place| &place["resourceRef"]);
    let several = places.iter().flat_map(|place| array(&place["resourceRefs"]));
    let read = |reference: &Value| {
        let gvk = GroupVersionKind::of(reference.as_object()?).ok()?;
        let explicit = reference["namespace"].as_str();
        let namespace = explicit.or(own).and_then(Namespace::new);
        let target = ObjectRef::new(gvk, namespace, reference["name"].as_str()?);
        Some(Reference { target, is_exact: explicit.is_some() })
    };
    single.chain(several).filter_map(read).collect()
}
