//! Between the references of `composition`, which are what objects say, and those of `manifest`, which name what can be asked for.

use composition::object::{ObjectRef, TypeRef};
use composition::run::Object;
use manifest::{GroupVersionKind, Namespace};
use serde_json::Value;

use crate::store::Key;

/// A kind that cannot be asked for, because what is written is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind:?} of {api_version:?} is not the name of a kind")]
pub(super) struct BadKind {
    api_version: String,
    kind: String,
}

/// The kind as it is asked for.
pub(super) fn gvk(kind: &TypeRef) -> Result<GroupVersionKind, BadKind> {
    let bad = || BadKind { api_version: kind.api_version.clone(), kind: kind.kind.clone() };
    let api_version = kind.api_version.parse().map_err(|_| bad())?;
    GroupVersionKind::new(api_version, &kind.kind).map_err(|_| bad())
}

/// The object as it is asked for.
pub(super) fn target(object: &ObjectRef) -> Result<manifest::ObjectRef, BadKind> {
    let namespace = object.namespace.as_deref().and_then(Namespace::new);
    Ok(manifest::ObjectRef::new(gvk(&object.kind)?, namespace, object.name.clone()))
}

/// The object that `key` names among those of `gvk`.
pub(super) fn of_key(gvk: &GroupVersionKind, key: &Key) -> manifest::ObjectRef {
    let namespace = key.namespace.as_deref().and_then(Namespace::new);
    manifest::ObjectRef::new(gvk.clone(), namespace, key.name.clone())
}

/// The Secret called `name`.
pub(super) fn secret(namespace: &str, name: &str) -> manifest::ObjectRef {
    let gvk = "v1/Secret".parse().expect("it is the name of a kind");
    manifest::ObjectRef::new(gvk, Namespace::new(namespace), name)
}

/// The key of an object among those of its kind.
pub(super) fn key(object: &Object) -> Key {
    let part = |text: Option<&str>| text.map(str::to_owned);
    Key {
        namespace: part(composition::object::namespace(object)),
        name: part(composition::object::name(object)).unwrap_or_default(),
    }
}

/// The object an answer is; an answer that is none reads as an empty one.
pub(super) fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

/// The resource version of an object, as a number where it is one.
pub(super) fn version(object: &Object) -> Option<&str> {
    composition::object::nested(object, &["metadata", "resourceVersion"])?.as_str()
}
