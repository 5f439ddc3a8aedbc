//! Reading what a service answered, without trusting its shape: a field of the wrong type is a field that is not there.

use serde_json::Value;

use crate::api::{DefinedTags, FreeformTags};

/// A text that says something.
pub(super) fn text(body: &Value, name: &str) -> Option<String> {
    body.get(name)?.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// A whole number.
pub(super) fn number(body: &Value, name: &str) -> Option<i64> {
    body.get(name)?.as_i64()
}

/// Tags without a schema.
pub(super) fn freeform_tags(body: &Value) -> FreeformTags {
    tags(body.get("freeformTags"))
}

/// Tags of namespaces, under the given name.
pub(super) fn defined_tags(body: &Value, name: &str) -> DefinedTags {
    let namespaces = body.get(name).and_then(Value::as_object).into_iter().flatten();
    namespaces.map(|(namespace, below)| (namespace.clone(), tags(Some(below)))).collect()
}

fn tags(object: Option<&Value>) -> FreeformTags {
    let object = object.and_then(Value::as_object).into_iter().flatten();
    object.filter_map(|(key, value)| Some((key.clone(), tag_value(value)?))).collect()
}

/// The value of a tag as text; the values of defined tags may be numbers and truth values, too.
pub(super) fn tag_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
