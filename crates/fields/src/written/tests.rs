//! Which fields a manifest writes.

use serde_json::json;

use super::*;

fn check(body: &Value, expected: &str) {
    assert_eq!(written(body, &Schema::of(body)).to_json(), expected.replace(['\n', ' '], ""));
}

#[test]
fn a_manifest_writes_what_server_side_apply_would_hold() {
    check(
        &json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"labels": {"app.kubernetes.io/name": "web"}, "finalizers": ["b", "a"]},
            "spec": {
                "containers": [{"name": "web", "ports": [{"containerPort": 80}], "args": ["-v"], "env": []}],
                "volumes": [{"name": "v", "emptyDir": {}}],
                "nodeSelector": {"disk": "ssd"},
                "hostname": null,
            },
        }),
        r#"{"f:apiVersion":{},"f:kind":{},
            "f:metadata":{"f:finalizers":{"v:\"a\"":{},"v:\"b\"":{}},"f:labels":{"f:app.kubernetes.io/name":{}}},
            "f:spec":{
                "f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:args":{},"f:name":{},
                    "f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}},
                "f:hostname":{},
                "f:nodeSelector":{},
                "f:volumes":{"k:{\"name\":\"v\"}":{".":{},"f:emptyDir":{},"f:name":{}}}}}"#,
    );
}

#[test]
fn lists_of_custom_kinds_are_written_as_a_whole_until_the_server_says_otherwise() {
    let body = json!({"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"parts": [{"id": 1, "size": "s"}]}});
    let unknown = written(&body, &Schema::of(&body));
    assert_eq!(unknown.to_json(), r#"{"f:apiVersion":{},"f:kind":{},"f:spec":{"f:parts":{}}}"#);
    let live = FieldSet::from_json(r#"{"f:spec":{"f:parts":{"k:{\"id\":7}":{}}}}"#).unwrap();
    let known = written(&body, &Schema::of(&body).learning_from(&live));
    assert_eq!(
        known.to_json(),
        r#"{"f:apiVersion":{},"f:kind":{},"f:spec":{"f:parts":{"k:{\"id\":1}":{".":{},"f:id":{},"f:size":{}}}}}"#
    );
}

#[test]
fn identity_is_what_every_manifest_writes() {
    assert_eq!(
        identity().to_json(),
        r#"{"f:apiVersion":{},"f:kind":{},"f:metadata":{"f:name":{},"f:namespace":{}}}"#
    );
}
