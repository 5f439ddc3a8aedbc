//! The attributes of a resource, as its lifecycle reads and writes them.

use fields::IgnoreFields;
use manifest::{Namespace, ObjectRef};
use readiness::{Cut, Wait};
use tfplugin::value::{Object, Value};

use crate::body::Body;
use crate::wait_attribute;

/// The entries of `ignore_fields`; an unknown or empty list ignores nothing.
pub(super) fn ignore_list(attributes: &Object) -> Vec<String> {
    let elements = attributes.get("ignore_fields").as_elements().unwrap_or_default();
    elements.iter().filter_map(|entry| entry.as_str().map(str::to_owned)).collect()
}

/// The parsed `ignore_fields`; entries that validation rejected are skipped.
pub(super) fn ignored(attributes: &Object) -> IgnoreFields {
    let entries = ignore_list(attributes);
    let readable = entries.iter().filter(|entry| IgnoreFields::parse([entry]).is_ok());
    IgnoreFields::parse(readable).unwrap_or_default()
}

/// The parsed `wait_for`; `None` if it is empty or not known yet.
pub(super) fn wait(attributes: &Object) -> Option<Wait> {
    wait_attribute::read(attributes.get("wait_for"))?.parse(None, Cut::Status).wait
}

/// The body, if it is set and parses.
pub(super) fn body(attributes: &Object) -> Option<Body> {
    Body::parse(attributes.text("yaml_body")?).ok()
}

pub(super) fn object_ref(target: &ObjectRef) -> Value {
    Object::new()
        .with("api_version", target.api_version().to_string())
        .with("kind", target.kind())
        .with("name", target.name.as_str())
        .with("namespace", target.namespace.as_ref().map(Namespace::as_str))
        .into()
}

/// The object of a state: from `object_ref`, otherwise from the body.
pub(super) fn target(state: &Object) -> Option<ObjectRef> {
    let stored = || {
        let reference = state.get("object_ref").as_object()?;
        let kind = format!("{}/{}", reference.text("api_version")?, reference.text("kind")?);
        let namespace = reference.text("namespace").and_then(Namespace::new);
        Some(ObjectRef::new(kind.parse().ok()?, namespace, reference.text("name")?))
    };
    stored().or_else(|| Some(body(state)?.presumed_target()))
}
