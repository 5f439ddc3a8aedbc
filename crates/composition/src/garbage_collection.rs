//! Composed resources that are no longer desired: found by identity, and deleted only if the XR controls them.

use std::collections::BTreeMap;

use manifest::ObjectRef;
use serde_json::Value;

use crate::desired::Composed;
use crate::naming::{LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE, LABEL_COMPOSITE};
use crate::object;
use crate::protocol::Object;

/// An object to be deleted, in the foreground and only while it has this uid.
#[derive(Clone, Debug, PartialEq)]
pub struct Deletion {
    pub key: String,
    pub object: ObjectRef,
    /// Its uid, the delete's precondition.
    pub uid: Option<String>,
}

/// The resource has another controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("refusing to delete composed resource {key:?} that is controlled by {kind} {name:?}")]
pub struct ControlledByOther {
    pub key: String,
    /// The controller's kind.
    pub kind: String,
    /// The controller's name.
    pub name: String,
}

/// What of `observed` is to be deleted, because no `desired` resource is the same object.
///
/// Identity decides, not the key: a key whose kind changed leaves the old object behind as garbage, and an object that
/// moved to another key is kept. Without a controller reference nothing proves that we made the object, so it stays
/// (GHSA-77cv-mrm6-fr3c: a user who may edit `resourceRefs` must not be able to delete objects through us).
pub fn undesired(
    xr_uid: &str,
    observed: &BTreeMap<String, Object>,
    desired: &BTreeMap<String, Composed>,
) -> Result<Vec<Deletion>, ControlledByOther> {
    let mut deletions = Vec::new();
    for (key, object) in observed {
        // What the API server has stored is always of a kind and has a name.
        let Ok(reference) = ObjectRef::of(object) else { continue };
        if desired.values().any(|wanted| wanted.reference.is_same_object(&reference)) {
            continue;
        }
        match object::controller(object) {
            None => {}
            Some(controller) if controller.uid != xr_uid => {
                let (kind, name) = (controller.kind, controller.name);
                return Err(ControlledByOther { key: key.clone(), kind, name });
            }
            Some(_) => deletions.push(Deletion {
                key: key.clone(),
                object: reference,
                uid: object::uid(object).map(str::to_owned),
            }),
        }
    }
    Ok(deletions)
}

/// `object` without the labels that tie it to its XR, written before the delete to tell garbage from resources deleted with
/// their XR; `None` if it has none of them.
pub fn without_labels(object: &Object) -> Option<Object> {
    let ours = [LABEL_COMPOSITE, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE];
    let mut object = object.clone();
    let labels = object.get_mut("metadata")?.get_mut("labels").and_then(Value::as_object_mut)?;
    let before = labels.len();
    labels.retain(|key, _| !ours.contains(&key.as_str()));
    (labels.len() < before).then_some(object)
}

#[cfg(test)]
mod tests;
