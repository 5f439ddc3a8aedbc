//! What status shows of a resource: the fields of its description, as far as they are of the type that it names.
//!
//! The response to a list has fewer fields and must not be used.

use oraclecloud::Kind;
use oraclecloud::kind::Shape;
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
    let filled = |value: Value| match &value {
        Value::Array(entries) if entries.is_empty() => None,
        Value::Object(entries) if entries.is_empty() => None,
        _ => Some(value),
    };
    match (shape, value) {
        (_, Value::Null) | (Shape::Secret, _) => None,
        (Shape::Any, value) => Some(value.clone()),
        (Shape::Text | Shape::Time | Shape::OneOf(_), Value::String(text)) => {
            (!text.trim().is_empty()).then(|| value.clone())
        }
        (Shape::Integer, Value::Number(number)) => number.as_i64().map(Value::from),
        (Shape::Number, Value::Number(_)) | (Shape::Boolean, Value::Bool(_)) => Some(value.clone()),
        (Shape::List(of), Value::Array(entries)) => {
            filled(entries.iter().filter_map(|entry| project(kind, of, entry)).collect())
        }
        (Shape::Map(of), Value::Object(entries)) => {
            let entry = |value: &Value| match **of {
                Shape::Text => tag_value(value).map(Value::from),
                _ => project(kind, of, value),
            };
            filled(entries.iter().filter_map(|(name, value)| Some((name.clone(), entry(value)?))).collect())
        }
        (Shape::Model(name), value) => {
            let model = kind.model(name)?;
            let known = model.fields.iter().filter_map(|(name, field)| {
                Some((name.clone(), project(kind, &field.shape, value.get(name)?)?))
            });
            let mut fields: Map<String, Value> = known.collect();
            if let Some(name) = &model.discriminator {
                // Some services show no more than the name of the type.
                fields.insert(name.clone(), json!(value.get(name).unwrap_or(value).as_str()?));
            }
            filled(fields.into())
        }
        _ => None,
    }
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
