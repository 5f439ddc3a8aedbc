//! Converts references as objects write them (`composition`) to valid ones (`manifest`).

use composition::object::{ObjectRef, TypeRef};
use composition::run::Object;
use manifest::{GroupVersionKind, Namespace};
use serde_json::{Value, json};

use crate::runtime::client::{self, ApiError, InvalidKind};
use crate::runtime::store::Key;

pub(super) fn gvk(kind: &TypeRef) -> Result<GroupVersionKind, InvalidKind> {
    client::gvk(&kind.api_version, &kind.kind)
}

pub(super) fn target(object: &ObjectRef) -> Result<manifest::ObjectRef, InvalidKind> {
    let namespace = object.namespace.as_deref().and_then(Namespace::new);
    Ok(manifest::ObjectRef::new(gvk(&object.kind)?, namespace, object.name.clone()))
}

pub(super) fn secret(namespace: &str, name: &str) -> manifest::ObjectRef {
    let gvk = "v1/Secret".parse().expect("a valid kind");
    manifest::ObjectRef::new(gvk, Namespace::new(namespace), name)
}

pub(super) fn key(object: &Object) -> Key {
    let part = |text: Option<&str>| text.map(str::to_owned);
    Key {
        namespace: part(composition::object::namespace(object)),
        name: part(composition::object::name(object)).unwrap_or_default(),
    }
}

/// A JSON object; any other JSON reads as an empty one.
pub(super) fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

pub(super) fn version(object: &Object) -> Option<&str> {
    composition::object::nested(object, &["metadata", "resourceVersion"])?.as_str()
}

/// What the API server finds invalid, as far as it says the same each time.
pub(super) fn rejection(error: &ApiError) -> String {
    let causes = error.status().map(|status| status.details.causes.as_slice()).unwrap_or_default();
    let cause = |cause: &cluster::StatusCause| json!({"field": cause.field, "reason": cause.reason});
    let causes: Vec<Value> = causes.iter().map(cause).collect();
    composition::health::refusal(&json!({"details": {"causes": causes}}))
}
