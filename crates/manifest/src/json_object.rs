//! The few fields every Kubernetes object has, read from and written to plain JSON.

use serde_json::{Map, Value, json};

use crate::reference::ObjectRef;

type Object = Map<String, Value>;

/// The owner of an object that controls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid, which alone decides whether two controllers are one.
    pub uid: String,
}

/// `metadata.name`, unless it is empty.
pub fn name(object: &Object) -> Option<&str> {
    metadata(object, "name")
}

/// `metadata.namespace`, unless it is empty.
pub fn namespace(object: &Object) -> Option<&str> {
    metadata(object, "namespace")
}

/// `metadata.uid`, unless it is empty.
pub fn uid(object: &Object) -> Option<&str> {
    metadata(object, "uid")
}

/// `metadata.generation`.
pub fn generation(object: &Object) -> Option<i64> {
    object.get("metadata")?.get("generation")?.as_i64()
}

/// `metadata.resourceVersion`, unless it is empty.
pub fn resource_version(object: &Object) -> Option<&str> {
    metadata(object, "resourceVersion")
}

/// Whether the object is being deleted.
pub fn is_being_deleted(object: &Object) -> bool {
    metadata(object, "deletionTimestamp").is_some()
}

/// A label, unless it is empty.
pub fn label<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    text(object, &["metadata", "labels", key])
}

/// An annotation, unless it is empty.
pub fn annotation<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    text(object, &["metadata", "annotations", key])
}

/// The controller of the object, if it has one.
pub fn controller(object: &Object) -> Option<Controller> {
    let mut owners = list(object, &["metadata", "ownerReferences"]);
    let owner = owners.find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))?;
    let part = |key| owner.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Controller { kind: part("kind"), name: part("name"), uid: part("uid") })
}

/// Whether `owner` is the controller of `object`.
pub fn is_controlled_by(object: &Object, owner: &Object) -> bool {
    controller(object).is_some_and(|controller| Some(controller.uid.as_str()) == uid(owner))
}

/// The reference that makes `owner` the controller of what carries it.
pub fn controller_reference(owner: &Object) -> Value {
    json!({
        "apiVersion": owner.get("apiVersion"),
        "kind": owner.get("kind"),
        "name": name(owner).unwrap_or_default(),
        "uid": uid(owner).unwrap_or_default(),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// `reference` as objects write it: `apiVersion`, `kind` and `name`, without a namespace.
pub fn reference(reference: &ObjectRef) -> Value {
    json!({
        "apiVersion": reference.api_version().to_string(), "kind": reference.kind(), "name": reference.name,
    })
}

/// The value at `path`, if every step on the way is an object.
pub fn nested<'a>(object: &'a Object, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(object.get(*first)?, |value, key| value.get(*key))
}

/// The object at `path`, made on the way where something else or nothing was.
pub fn nested_mut<'a>(object: &'a mut Object, path: &[&str]) -> &'a mut Object {
    path.iter().fold(object, |object, key| {
        let value = object.entry(*key).or_insert_with(|| Value::Object(Map::new()));
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        value.as_object_mut().expect("it was made an object above")
    })
}

/// Sets `metadata.<key>`; an absent value removes it.
pub fn set_metadata(object: &mut Object, key: &str, value: Option<&str>) {
    match value {
        Some(value) => {
            nested_mut(object, &["metadata"]).insert(key.to_owned(), Value::from(value));
        }
        None => {
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove(key);
            }
        }
    }
}

fn metadata<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    text(object, &["metadata", key])
}

/// The text at `path`, unless it is empty.
pub fn text<'a>(object: &'a Object, path: &[&str]) -> Option<&'a str> {
    nested(object, path)?.as_str().filter(|text| !text.is_empty())
}

/// The elements of the list at `path`; none if there is no list.
pub fn list<'a>(object: &'a Object, path: &[&str]) -> impl Iterator<Item = &'a Value> {
    nested(object, path).and_then(Value::as_array).into_iter().flatten()
}

/// The texts in the list at `path`.
pub fn texts(object: &Object, path: &[&str]) -> Vec<String> {
    list(object, path).filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

/// The object at `path`.
pub fn map<'a>(object: &'a Object, path: &[&str]) -> Option<&'a Object> {
    nested(object, path)?.as_object()
}

/// The object `value` is; anything else reads as an empty object.
pub fn from_value(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

/// The object a `json!({…})` literal is.
pub fn object(literal: Value) -> Object {
    match literal {
        Value::Object(object) => object,
        other => unreachable!("the literal is not an object: {other}"),
    }
}
