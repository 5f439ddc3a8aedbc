//! Reads fields of a service's response; a field of the wrong type counts as absent.

use operations::Scope;
use serde_json::Value;

use crate::api::{DefinedTags, FreeformTags};

/// The parameter of a listing, and the field of a resource.
pub(super) const COMPARTMENT: &str = "compartmentId";

/// The parameters of a listing that have a value.
pub(super) fn scope(parameters: &[(&str, Option<&str>)]) -> Scope {
    let given =
        parameters.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned())));
    given.collect()
}

/// A text that is not blank.
pub(super) fn text(body: &Value, name: &str) -> Option<String> {
    body.get(name)?.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

pub(super) fn number(body: &Value, name: &str) -> Option<i64> {
    body.get(name)?.as_i64()
}

pub(super) fn freeform_tags(body: &Value) -> FreeformTags {
    tags(body.get("freeformTags"))
}

pub(super) fn defined_tags(body: &Value, name: &str) -> DefinedTags {
    let namespaces = body.get(name).and_then(Value::as_object).into_iter().flatten();
    namespaces.map(|(namespace, below)| (namespace.clone(), tags(Some(below)))).collect()
}

fn tags(object: Option<&Value>) -> FreeformTags {
    let object = object.and_then(Value::as_object).into_iter().flatten();
    object.filter_map(|(key, value)| Some((key.clone(), tag_value(value)?))).collect()
}

/// The value of a tag as text; values of defined tags may also be numbers and booleans.
pub(super) fn tag_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
