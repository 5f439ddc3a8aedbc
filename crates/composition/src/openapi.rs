//! The schema of a kind in an OpenAPI document, with references inlined.

use serde_json::Value;

use crate::protocol::{Object, SchemaSelector};

/// A schema may refer to itself, as JSONSchemaProps does.
const MAX_DEPTH: usize = 64;

/// The schema of the kind in `selector`, if the document has one.
pub fn schema(document: &Object, selector: &SchemaSelector) -> Option<Object> {
    let schemas = document.get("components")?.get("schemas")?.as_object()?;
    let (group, version) = selector.api_version.split_once('/').unwrap_or(("", &selector.api_version));
    let wanted = |schema: &&Value| {
        let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        // DeleteOptions and the like belong to many kinds and are the schema of none.
        let [kind] = kinds.map_or(&[][..], Vec::as_slice) else { return false };
        let part = |key: &str| kind.get(key).and_then(Value::as_str).unwrap_or_default();
        (part("group"), part("version"), part("kind")) == (group, version, selector.kind.as_str())
    };
    let schema = schemas.values().find(wanted)?;
    match inlined(schema, schemas, 0) {
        Value::Object(schema) => Some(schema),
        _ => None,
    }
}

fn inlined(schema: &Value, schemas: &Object, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::Object(Object::new());
    }
    match schema {
        Value::Array(list) => list.iter().map(|one| inlined(one, schemas, depth + 1)).collect(),
        Value::Object(object) => match referred(object, schemas) {
            Some(referred) => {
                // Fields beside a reference, such as a description or a default, add to it.
                let mut whole = inlined(referred, schemas, depth + 1);
                for (key, value) in
                    object.iter().filter(|(key, _)| !["$ref", "allOf"].contains(&key.as_str()))
                {
                    whole[key] = inlined(value, schemas, depth + 1);
                }
                whole
            }
            None => Value::Object(
                object.iter().map(|(key, value)| (key.clone(), inlined(value, schemas, depth + 1))).collect(),
            ),
        },
        other => other.clone(),
    }
}

/// What a schema refers to: by `$ref`, or by an `allOf` with one entry, which is how a reference gets a default.
fn referred<'a>(schema: &Object, schemas: &'a Object) -> Option<&'a Value> {
    let by_ref = |schema: &Object| schema.get("$ref").and_then(Value::as_str).map(str::to_owned);
    let only = || match schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
        Some([Value::Object(only)]) if only.len() == 1 => by_ref(only),
        _ => None,
    };
    let reference = by_ref(schema).or_else(only)?;
    schemas.get(reference.strip_prefix("#/components/schemas/")?)
}

#[cfg(test)]
mod tests;
