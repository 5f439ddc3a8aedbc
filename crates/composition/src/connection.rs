//! Connection details of legacy XRs: which are published, in which Secret, and how a claim gets its copy.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use manifest::{Namespace, ObjectRef};
use serde_json::{Value, json};

use crate::object;
use crate::protocol::{Object, SecretData};

/// The type of Secrets that hold connection details.
pub const SECRET_TYPE: &str = "connection.crossplane.io/v1alpha1";

/// Why a Secret is left alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionError {
    /// It exists for another purpose.
    #[error("refusing to modify uncontrolled secret of type {0:?}")]
    Uncontrolled(
        /// The type it has.
        String,
    ),
    /// It has another controller.
    #[error("existing secret is not controlled by UID {0:?}")]
    ControlledByOther(
        /// Whose it would have to be.
        String,
    ),
    /// The XR does not own the Secret it names, so its claim must not get to see it.
    #[error("cannot establish control of existing connection secret")]
    NotTheComposites,
}

/// The Secret called `name`.
pub fn secret_ref(namespace: &str, name: &str) -> ObjectRef {
    let gvk = "v1/Secret".parse().expect("v1/Secret is a kind");
    ObjectRef::new(gvk, Namespace::new(namespace), name)
}

/// Namespace and name of the Secret that a composed resource publishes its connection details to.
///
/// A namespaced resource publishes beside itself: the namespace in its spec is what a tenant may have written there.
pub fn secret_of(resource: &Object) -> Option<(&str, &str)> {
    let path = ["spec", "writeConnectionSecretToRef"];
    let reference = |key| object::text(resource, &[path[0], path[1], key]);
    Some((object::namespace(resource).or_else(|| reference("namespace"))?, reference("name")?))
}

/// The details in `secret` that `publisher` published. Nothing if it does not control the Secret: a resource can name
/// any, and those who may write it must not be able to read that Secret through us.
pub fn published(secret: &Object, publisher: &Object) -> Option<SecretData> {
    object::is_controlled_by(secret, publisher).then(|| data(secret))
}

/// The details an XRD lets out: those it lists, or all if it lists none.
pub fn filter(details: &SecretData, keys: &[String]) -> SecretData {
    let kept = details.iter().filter(|(key, _)| keys.is_empty() || keys.contains(key));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The Secret to be written for `owner`, or none if `existing` has it all.
///
/// Details are added, never removed: a function that omits one for a moment must not cut off its users.
pub fn publish(
    owner: &Object,
    (namespace, name): (&str, &str),
    details: &SecretData,
    existing: Option<&Object>,
) -> Result<Option<Object>, ConnectionError> {
    let mut wanted = SecretData::default();
    if let Some(existing) = existing {
        check_control(existing, owner)?;
        wanted = data(existing);
    }
    for (key, value) in details.iter() {
        wanted.insert(key.clone(), value.clone());
    }
    let complete = existing.is_some_and(|existing| data(existing) == wanted);
    Ok((!complete).then(|| secret(owner, namespace, name, &wanted)))
}

/// The claim's copy of its XR's Secret, or none if `existing` is one.
pub fn propagate(
    claim: &Object,
    name: &str,
    xr: &Object,
    source: &Object,
    existing: Option<&Object>,
) -> Result<Option<Object>, ConnectionError> {
    let details = published(source, xr).ok_or(ConnectionError::NotTheComposites)?;
    if let Some(existing) = existing {
        check_control(existing, claim)?;
        if data(existing) == details {
            return Ok(None);
        }
    }
    let namespace = object::namespace(claim).unwrap_or_default();
    Ok(Some(secret(claim, namespace, name, &details)))
}

/// The data of a Secret object; a value that is not base64 is left out.
pub fn data(secret: &Object) -> SecretData {
    manifest::secret::decoded(secret).map(|(key, value)| (key.clone(), value)).collect()
}

fn check_control(existing: &Object, owner: &Object) -> Result<(), ConnectionError> {
    let uid = object::uid(owner).unwrap_or_default();
    match object::controller(existing) {
        Some(controller) if controller.uid != uid => Err(ConnectionError::ControlledByOther(uid.to_owned())),
        Some(_) => Ok(()),
        None => match existing.get("type").and_then(Value::as_str).unwrap_or_default() {
            SECRET_TYPE => Ok(()),
            other => Err(ConnectionError::Uncontrolled(other.to_owned())),
        },
    }
}

fn secret(owner: &Object, namespace: &str, name: &str, data: &SecretData) -> Object {
    let encoded: Object =
        data.iter().map(|(key, value)| (key.clone(), STANDARD.encode(value).into())).collect();
    object::object(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "namespace": namespace,
            "name": name,
            "ownerReferences": [object::controller_reference(owner)],
        },
        "type": SECRET_TYPE,
        "data": encoded,
    }))
}

#[cfg(test)]
mod tests;
