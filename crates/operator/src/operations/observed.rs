//! What status shows of a resource: the fields of its description, as far as they are of the type that it names.
//!
//! The response to a list has fewer fields and must not be used.

use oraclecloud::Kind;
use oraclecloud::kind::{Part, Shape};
use serde_json::{Map, Value, json};

use crate::api::observed_name;

pub(super) fn observed(kind: Kind, body: &Value) -> Map<String, Value> {
    let shown = kind.status.iter().filter_map(|(name, field)| {
        Some((observed_name(name).to_owned(), project(kind, &field.shape, body.get(name)?)?))
    });
    shown.collect()
}

/// A value without what does not fit its shape; none if nothing is left. Empty lists and maps say no more than absent ones.
fn project(kind: Kind, shape: &Shape, value: &Value) -> Option<Value> {
    let fits = match (shape, value) {
        (_, Value::Null) | (Shape::Secret, _) => false,
        (Shape::Text | Shape::Time | Shape::OneOf(_), Value::String(text)) => !text.trim().is_empty(),
        (Shape::Integer, value) => value.is_i64(),
        (Shape::Any, _)
        | (Shape::Number, Value::Number(_))
        | (Shape::Boolean, Value::Bool(_))
        | (Shape::List(_), Value::Array(_))
        | (Shape::Map(_) | Shape::Model(_), Value::Object(_)) => true,
        // Some services show no more of an object than the name of its type.
        (Shape::Model(name), Value::String(_)) => {
            return Some(json!({kind.model(name)?.discriminator.as_ref()?: value}));
        }
        _ => false,
    };
    let shown = fits.then(|| {
        kind.rebuild(shape, value, &mut |part, shape, value| match (part, shape) {
            (Part::Field(_, None), _) => None,
            (Part::Key(_), Shape::Text) => tag_value(value).map(Value::from),
            _ => project(kind, shape, value),
        })
    });
    shown.filter(|shown| *shape == Shape::Any || (*shown != json!([]) && *shown != json!({})))
}

/// A text of a response that is not blank.
pub(super) fn text(body: &Value, name: &str) -> Option<String> {
    body.get(name)?.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// The value of a tag as text; values of defined tags may also be numbers and booleans.
pub(super) fn tag_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
