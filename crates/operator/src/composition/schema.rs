//! The schema of a kind as the API server publishes it, with every reference replaced by what it refers to.

use composition::run::{Object, Schema, SchemaSelector};
use functions::ResolveError;
use serde_json::Value;

use crate::said::chain;

/// As deep as references are followed: a schema may refer to itself, as that of schemas does.
const DEEPEST: usize = 64;

/// The schema that `selector` asks for; an empty one if there is no such kind.
pub(super) async fn of(
    session: &cluster::Session,
    selector: &SchemaSelector,
) -> Result<Schema, ResolveError> {
    let root = if selector.api_version.contains('/') { "apis" } else { "api" };
    let path = format!("/openapi/v3/{root}/{}", selector.api_version);
    let request = http::Request::get(path).body(Vec::new()).map_err(|error| ResolveError(chain(&error)))?;
    match session.client().request::<Value>(request).await {
        Ok(document) => Ok(Schema { openapi_v3: find(&document, selector) }),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Schema::default()),
        Err(error) => Err(ResolveError(chain(&error))),
    }
}

fn find(document: &Value, selector: &SchemaSelector) -> Option<Object> {
    let schemas = document.pointer("/components/schemas")?.as_object()?;
    let (group, version) = selector.api_version.split_once('/').unwrap_or(("", &selector.api_version));
    let wanted = |schema: &&Value| {
        let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        // Helpers such as DeleteOptions belong to many kinds and are the schema of none.
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
    if depth > DEEPEST {
        return Value::Object(Object::new());
    }
    match schema {
        Value::Array(list) => list.iter().map(|one| inlined(one, schemas, depth + 1)).collect(),
        Value::Object(object) => match referred(object, schemas) {
            Some(referred) => {
                // What stands beside a reference, such as a description or a default, adds to it.
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

/// What a schema refers to: by `$ref`, or by an `allOf` of just one, which is how a reference is given a default.
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
mod tests {
    use serde_json::json;

    use super::*;

    fn check(kind: &str, expected: Option<&Value>) {
        let gvk = |kind| json!([{"group": "", "version": "v1", "kind": kind}]);
        let document = json!({"components": {"schemas": {
            "Pod": {
                "type": "object", "x-kubernetes-group-version-kind": gvk("Pod"),
                "properties": {
                    "spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}], "default": {}},
                    "names": {"type": "array", "items": {"$ref": "#/components/schemas/Name"}},
                },
            },
            "Spec": {"type": "object", "properties": {"name": {"$ref": "#/components/schemas/Name"}}},
            "Name": {"type": "string"},
            "Options": {"x-kubernetes-group-version-kind": [gvk("Options")[0], gvk("Other")[0]]},
        }}});
        let selector = SchemaSelector { api_version: "v1".to_owned(), kind: kind.to_owned() };
        let found = find(&document, &selector).map(|mut schema| {
            schema.remove("x-kubernetes-group-version-kind");
            Value::Object(schema)
        });
        assert_eq!(found.as_ref(), expected);
    }

    #[test]
    fn references_are_replaced_by_what_they_refer_to() {
        let name = json!({"type": "string"});
        let spec = json!({"type": "object", "properties": {"name": name}, "default": {}});
        let pod = json!({"type": "object", "properties": {"spec": spec, "names": {"type": "array", "items": name}}});
        check("Pod", Some(&pod));
    }

    #[test]
    fn what_is_the_schema_of_no_single_kind_is_not_found() {
        check("Options", None);
        check("Nothing", None);
    }
}
