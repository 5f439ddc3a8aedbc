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
    let found = schema(document.as_object().unwrap(), &selector).map(|mut schema| {
        schema.remove("x-kubernetes-group-version-kind");
        Value::Object(schema)
    });
    assert_eq!(found.as_ref(), expected);
}

#[test]
fn references_are_replaced_by_what_they_refer_to() {
    let name = json!({"type": "string"});
    let spec = json!({"type": "object", "properties": {"name": name}, "default": {}});
    let pod =
        json!({"type": "object", "properties": {"spec": spec, "names": {"type": "array", "items": name}}});
    check("Pod", Some(&pod));
}

#[test]
fn what_is_the_schema_of_no_single_kind_is_not_found() {
    check("Options", None);
    check("Nothing", None);
}
