//! An object as an API server serves it by the schema of its CRD: fields that the schema lacks are gone, defaults are filled in.

use manifest::GroupVersionKind;
use serde_json::Value;

use crate::object;
use crate::protocol::Object;

/// What every object has, whatever its schema says.
const IDENTITY: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Fills the defaults of `crd` into `object`, for the version that it is written in.
pub fn fill_defaults(object: &mut Object, crd: &Object) {
    if let Some(schema) = schema_of(object, crd) {
        fill_object(object, &schema);
    }
}

/// Removes from `object` the fields that the schema of its version in `crd` does not have; their paths, sorted, each without
/// those below it.
pub fn prune(object: &mut Object, crd: &Object) -> Vec<String> {
    let mut pruned = Vec::new();
    if let Some(schema) = schema_of(object, crd) {
        let mut rest: Object = Object::new();
        for name in IDENTITY {
            rest.extend(object.remove(name).map(|value| (name.to_owned(), value)));
        }
        prune_object(object, &schema, "", &mut pruned);
        object.extend(rest);
    }
    pruned.sort_unstable();
    pruned
}

fn schema_of(written: &Object, crd: &Object) -> Option<Value> {
    let gvk = GroupVersionKind::of(written).ok()?;
    let mut versions = object::list(crd, &["spec", "versions"]);
    let version = versions.find(|one| one.get("name").and_then(Value::as_str) == Some(gvk.version()))?;
    version.pointer("/schema/openAPIV3Schema").cloned()
}

fn fill_value(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(object) => fill_object(object, schema),
        Value::Array(list) => {
            if let Some(items) = schema.get("items") {
                for value in list {
                    fill_value(value, items);
                }
            }
        }
        _ => {}
    }
}

/// Fills in the default of a missing property, also inside another default; a missing parent is not created.
fn fill_object(object: &mut Object, schema: &Value) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if !object.contains_key(name)
            && let Some(default) = property.get("default")
        {
            object.insert(name.clone(), default.clone());
        }
        if let Some(value) = object.get_mut(name) {
            fill_value(value, property);
        }
    }
    if let Some(additional) = schema.get("additionalProperties").filter(|additional| additional.is_object()) {
        let known = |name: &String| properties.is_some_and(|properties| properties.contains_key(name));
        for (_, value) in object.iter_mut().filter(|(name, _)| !known(name)) {
            fill_value(value, additional);
        }
    }
}

fn prune_value(value: &mut Value, schema: &Value, path: &str, pruned: &mut Vec<String>) {
    match value {
        Value::Object(object) => prune_object(object, schema, path, pruned),
        Value::Array(list) => {
            for (at, value) in list.iter_mut().enumerate() {
                prune_value(
                    value,
                    schema.get("items").unwrap_or(&Value::Null),
                    &format!("{path}[{at}]"),
                    pruned,
                );
            }
        }
        _ => {}
    }
}

fn prune_object(object: &mut Object, schema: &Value, path: &str, pruned: &mut Vec<String>) {
    let says = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let keeps_unknown = says("x-kubernetes-preserve-unknown-fields");
    let is_embedded = says("x-kubernetes-embedded-resource");
    let additional = schema.get("additionalProperties");
    object.retain(|name, value| {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let property = schema.get("properties").and_then(|properties| properties.get(name));
        match property.or(additional.filter(|additional| additional.is_object())) {
            Some(property) => prune_value(value, property, &path, pruned),
            None if additional == Some(&Value::Bool(true)) || keeps_unknown => {}
            None if is_embedded && IDENTITY.contains(&name.as_str()) => {}
            None => {
                pruned.push(path);
                return false;
            }
        }
        true
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_fill_what_is_missing_and_nothing_else() {
        let schema = json!({"properties": {
            "size": {"default": "small"},
            "nested": {"properties": {"a": {"default": 1}}},
            "made": {"default": {}, "properties": {"b": {"default": 2}}},
            "list": {"items": {"properties": {"c": {"default": 3}}}},
            "map": {"additionalProperties": {"properties": {"d": {"default": 4}}}},
        }});
        let check = |before: Value, expected: Value| {
            let mut value = before.clone();
            fill_value(&mut value, &schema);
            assert_eq!(value, expected, "{before}");
        };
        check(json!({}), json!({"size": "small", "made": {"b": 2}}));
        check(
            json!({"size": "large", "nested": {}, "made": {"b": 0}, "list": [{}, {"c": 0}], "map": {"x": {}}}),
            json!({"size": "large", "nested": {"a": 1}, "made": {"b": 0}, "list": [{"c": 3}, {"c": 0}],
                   "map": {"x": {"d": 4}}}),
        );
    }

    #[test]
    fn what_the_schema_lacks_is_pruned_and_named() {
        let schema = json!({"properties": {"spec": {"properties": {
            "known": {"properties": {"a": {}}},
            "free": {"x-kubernetes-preserve-unknown-fields": true, "properties": {"typed": {"properties": {}}}},
            "map": {"additionalProperties": {"properties": {"b": {}}}},
            "list": {"items": {"properties": {"c": {}}}},
            "inner": {"x-kubernetes-embedded-resource": true, "properties": {"spec": {}}},
        }}}});
        let crd = object::object(json!({"spec": {"versions": [
            {"name": "v1", "schema": {"openAPIV3Schema": schema}},
        ]}}));
        let check = |spec: Value, expected: Value, paths: &[&str]| {
            let xr = |spec: &Value| {
                object::object(json!({
                    "apiVersion": "e.org/v1", "kind": "X", "metadata": {"name": "x", "labels": {"a": "b"}},
                    "spec": spec,
                }))
            };
            let mut pruned = xr(&spec);
            assert_eq!(prune(&mut pruned, &crd), paths, "{spec}");
            assert_eq!(pruned, xr(&expected), "{spec}");
        };
        check(json!({"known": {"a": 1}}), json!({"known": {"a": 1}}), &[]);
        check(
            json!({"gone": {"x": 1}, "known": {"a": 1, "b": 2}}),
            json!({"known": {"a": 1}}),
            &["spec.gone", "spec.known.b"],
        );
        check(
            json!({"free": {"any": 1, "typed": {"x": 1}}}),
            json!({"free": {"any": 1, "typed": {}}}),
            &["spec.free.typed.x"],
        );
        check(
            json!({"map": {"k": {"b": 1, "x": 2}}, "list": [{"c": 1}, {"x": 1}]}),
            json!({"map": {"k": {"b": 1}}, "list": [{"c": 1}, {}]}),
            &["spec.list[1].x", "spec.map.k.x"],
        );
        check(
            json!({"inner": {"apiVersion": "v1", "kind": "A", "metadata": {}, "spec": 1, "x": 1}}),
            json!({"inner": {"apiVersion": "v1", "kind": "A", "metadata": {}, "spec": 1}}),
            &["spec.inner.x"],
        );
    }
}
