//! The observed state of an XR: which of the objects it references exist and are its own.

use std::collections::BTreeMap;

use manifest::{ObjectRef, server_metadata};

use crate::naming::{ANNOTATION_RESOURCE_NAME, LABEL_COMPOSITE};
use crate::object;
use crate::protocol::{Object, Ready, Resource, SecretData, State};

/// The composed resources as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Those that exist and belong to the XR, by their stable name in the composition.
    pub resources: BTreeMap<String, Object>,
    /// References to objects that do not exist.
    pub missing: Vec<ObjectRef>,
}

/// A composed resource without the annotation that names it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "encountered composed resource without required \"{ANNOTATION_RESOURCE_NAME}\" annotation: {0}. \
     Add the annotation, or take the object out of the XR's resourceRefs"
)]
pub struct AnonymousResource(
    /// The object without it.
    pub ObjectRef,
);

/// Sorts what was read for each reference of `xr`.
///
/// Users may write references, and functions see what is observed: a resource that does not belong to the XR is left out
/// as if it did not exist.
pub fn observe(
    xr: &Object,
    read: impl IntoIterator<Item = (ObjectRef, Option<Object>)>,
) -> Result<Observed, AnonymousResource> {
    let mut observed = Observed::default();
    for (reference, object) in read {
        match object {
            None => observed.missing.push(reference),
            Some(object) if belongs(&object, xr) => observed.add(reference, object)?,
            Some(_) => {}
        }
    }
    Ok(observed)
}

/// Whether `xr` controls `object`, or `object` has lost its owner references, as in a backup, and says itself that it is
/// of this tree. A namespaced XR composes nothing outside its namespace, so nothing there was ever its own.
fn belongs(object: &Object, xr: &Object) -> bool {
    if object::controller(object).is_some() {
        return object::is_controlled_by(object, xr);
    }
    let tree = object::label(xr, LABEL_COMPOSITE);
    let in_reach = object::namespace(xr).is_none_or(|own| object::namespace(object) == Some(own));
    in_reach && tree.is_some() && object::label(object, LABEL_COMPOSITE) == tree
}

impl Observed {
    /// Objects that a user gives as the composed resources of an XR.
    pub fn given(objects: impl IntoIterator<Item = (ObjectRef, Object)>) -> Result<Self, AnonymousResource> {
        let mut observed = Self::default();
        for (reference, object) in objects {
            observed.add(reference, object)?;
        }
        Ok(observed)
    }

    fn add(&mut self, reference: ObjectRef, object: Object) -> Result<(), AnonymousResource> {
        let Some(key) = object::annotation(&object, ANNOTATION_RESOURCE_NAME) else {
            return Err(AnonymousResource(reference));
        };
        self.resources.insert(key.to_owned(), object);
        Ok(())
    }

    /// The observed state that functions get: the XR, its resources, and the connection details of each; `details` are
    /// those of resources by key.
    pub fn state(
        &self,
        xr: &Object,
        xr_details: SecretData,
        mut details: BTreeMap<String, SecretData>,
    ) -> State {
        let resource = |object: &Object, connection_details| Resource {
            object: without_managed_fields(object),
            connection_details,
            ready: Ready::Unspecified,
        };
        let mut resources = BTreeMap::new();
        for (key, object) in &self.resources {
            resources.insert(key.clone(), resource(object, details.remove(key).unwrap_or_default()));
        }
        State { composite: resource(xr, xr_details), resources }
    }
}

/// Functions have no use for managedFields, which are often larger than the rest of an object.
fn without_managed_fields(object: &Object) -> Object {
    let mut object = object.clone();
    server_metadata::remove(object.get_mut("metadata"), server_metadata::OWNERSHIP);
    object
}

#[cfg(test)]
mod tests;
