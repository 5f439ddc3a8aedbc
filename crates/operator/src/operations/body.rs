//! What is sent for a spec.

use operations::OWNER_TAG;
use oraclecloud::Kind;
use oraclecloud::kind::{JSON_DATA, Shape};
use serde_json::{Map, Value, json};

/// The body of a create: the spec without what is empty, with the owner's tag.
pub(super) fn create_body(kind: Kind, spec: &Value, owner: &str) -> Value {
    let parents: Vec<&str> = kind.parents().collect();
    let mut body = Map::new();
    for (name, field) in &kind.spec {
        if field.late || parents.contains(&name.as_str()) {
            continue;
        }
        if let Some(value) = spec.get(name).map(|value| sent(kind, &field.shape, value))
            && !is_empty(&value)
        {
            body.insert(name.clone(), value);
        }
    }
    let mut tags = spec.get("freeformTags").and_then(Value::as_object).cloned().unwrap_or_default();
    tags.insert(OWNER_TAG.to_owned(), json!(owner));
    body.insert("freeformTags".to_owned(), tags.into());
    body.into()
}

fn is_empty(value: &Value) -> bool {
    *value == json!("") || *value == json!([]) || *value == json!({})
}

/// What is sent for a value of a spec. An object of several types is the object in its `jsonData`, if there is one,
/// overlaid with its other fields.
pub(super) fn sent(kind: Kind, shape: &Shape, value: &Value) -> Value {
    match (shape, value) {
        (Shape::List(of), Value::Array(entries)) => entries.iter().map(|it| sent(kind, of, it)).collect(),
        (Shape::Map(of), Value::Object(entries)) => {
            entries.iter().map(|(name, it)| (name.clone(), sent(kind, of, it))).collect()
        }
        (Shape::Model(name), Value::Object(entries)) => {
            let Some(model) = kind.model(name) else { return value.clone() };
            let fields = entries.iter().map(|(name, value)| {
                let shape = model.fields.get(name).map_or(&Shape::Any, |field| &field.shape);
                (name.clone(), sent(kind, shape, value))
            });
            let mut fields: Map<String, Value> = fields.collect();
            if model.discriminator.is_none() {
                return fields.into();
            }
            let written = entries.get(JSON_DATA).and_then(Value::as_str);
            let given = written.and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
            if given.is_some() || written.is_some_and(|text| text.trim().is_empty()) {
                fields.remove(JSON_DATA);
            }
            let mut body = given.unwrap_or_default();
            body.extend(fields);
            body.into()
        }
        _ => value.clone(),
    }
}
