//! The observed state of an XR: which of the objects it references exist and are its own.

use std::collections::BTreeMap;

use manifest::{ObjectRef, server_metadata};

use crate::naming::ANNOTATION_RESOURCE_NAME;
use crate::object;
use crate::protocol::{Object, Ready, Resource, SecretData, State};

/// The composed resources as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Those that exist and have no other controller, by their stable name in the composition.
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

/// Sorts what was read for each reference of the XR with uid `xr_uid`.
///
/// A resource with another controller is left out as if it did not exist: composing it later fails at its controller
/// reference.
pub fn observe(
    xr_uid: &str,
    read: impl IntoIterator<Item = (ObjectRef, Option<Object>)>,
) -> Result<Observed, AnonymousResource> {
    let mut observed = Observed::default();
    for (reference, object) in read {
        let Some(object) = object else {
            observed.missing.push(reference);
            continue;
        };
        if object::controller(&object).is_some_and(|controller| controller.uid != xr_uid) {
            continue;
        }
        let Some(key) = object::annotation(&object, ANNOTATION_RESOURCE_NAME) else {
            return Err(AnonymousResource(reference));
        };
        observed.resources.insert(key.to_owned(), object);
    }
    Ok(observed)
}

impl Observed {
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
