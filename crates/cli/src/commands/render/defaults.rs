//! Fills in the defaults of a schema, as an API server does.

use composition::object;
use composition::protocol::Object;
use manifest::GroupVersionKind;
use serde_json::Value;

/// Fills into `xr` the defaults of the CRD generated from its XRD, for the version of `xr`.
pub(super) fn fill(xr: &mut Object, crd: &Object) {
    let Ok(gvk) = GroupVersionKind::of(xr) else { return };
    let versions = object::nested(crd, &["spec", "versions"]).and_then(Value::as_array);
    let schema = versions
        .into_iter()
        .flatten()
        .find(|one| one.get("name").and_then(Value::as_str) == Some(gvk.version()))
        .and_then(|one| one.pointer("/schema/openAPIV3Schema"));
    if let Some(schema) = schema {
        fill_object(xr, schema);
    }
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
}
