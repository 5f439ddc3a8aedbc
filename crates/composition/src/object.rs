//! The few fields every Kubernetes object has, read from and written to plain JSON.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::run::Object;

/// The kind of an object as it is written in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeRef {
    /// The group and version, for instance `apps/v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
}

impl TypeRef {
    /// A type called `kind` in `api_version`.
    pub fn new(api_version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { api_version: api_version.into(), kind: kind.into() }
    }

    /// The type of `object`, with empty parts where it has none.
    pub fn of(object: &Object) -> Self {
        let part = |key| text(object, key).unwrap_or_default().to_owned();
        Self { api_version: part("apiVersion"), kind: part("kind") }
    }

    /// The group; empty for the core one.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Whether both are the same kind, in whatever version: what decides if two references mean one object.
    pub fn same_kind(&self, other: &Self) -> bool {
        self.kind == other.kind && self.group() == other.group()
    }

    /// `Kind.group`, or just the kind in the core group: how Go prints a GroupKind.
    pub fn group_kind(&self) -> String {
        match self.group() {
            "" => self.kind.clone(),
            group => format!("{}.{group}", self.kind),
        }
    }
}

/// Which object: everything needed to read it, and nothing that changes during its life.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// The type.
    pub kind: TypeRef,
    /// The namespace, if it has one.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectRef {
    /// A reference to `object`.
    pub fn of(object: &Object) -> Self {
        Self {
            kind: TypeRef::of(object),
            namespace: namespace(object).map(str::to_owned),
            name: name(object).unwrap_or_default().to_owned(),
        }
    }

    /// Whether both mean the same object, in whatever version they name it.
    pub fn same_object(&self, other: &Self) -> bool {
        self.kind.same_kind(&other.kind) && self.namespace == other.namespace && self.name == other.name
    }
}

/// `Deployment shop/web`, the way people name objects.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind.kind, self.name),
            None => write!(f, "{} {}", self.kind.kind, self.name),
        }
    }
}

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

/// Whether the object is being deleted.
pub fn is_being_deleted(object: &Object) -> bool {
    metadata(object, "deletionTimestamp").is_some()
}

/// A label, unless it is empty.
pub fn label<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    nested(object, &["metadata", "labels", key])?.as_str().filter(|value| !value.is_empty())
}

/// An annotation, unless it is empty.
pub fn annotation<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    nested(object, &["metadata", "annotations", key])?.as_str().filter(|value| !value.is_empty())
}

/// The controller of the object, if it has one.
pub fn controller(object: &Object) -> Option<Controller> {
    let owners = nested(object, &["metadata", "ownerReferences"])?.as_array()?;
    let owner = owners.iter().find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))?;
    let part = |key| owner.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Controller { kind: part("kind"), name: part("name"), uid: part("uid") })
}

/// The reference that makes `owner` the controller of what carries it.
pub fn controller_reference(owner: &Object) -> Value {
    let kind = TypeRef::of(owner);
    json!({
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": name(owner).unwrap_or_default(),
        "uid": uid(owner).unwrap_or_default(),
        "controller": true,
        "blockOwnerDeletion": true,
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
pub(crate) fn set_metadata(object: &mut Object, key: &str, value: Option<&str>) {
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
    nested(object, &["metadata", key])?.as_str().filter(|value| !value.is_empty())
}

fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

/// The object a `json!({…})` literal is.
pub(crate) fn object(literal: Value) -> Object {
    match literal {
        Value::Object(object) => object,
        other => unreachable!("the literal is no object: {other}"),
    }
}
