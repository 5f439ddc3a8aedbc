use serde_json::json;

use super::*;

fn live() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "shop", "uid": "u", "generation": 3,
            "managedFields": [
                { "manager": "kube-controller-manager", "operation": "Update", "subresource": "status",
                  "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": { "f:status": { "f:replicas": {} } } },
                { "manager": "plimsoll", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
                  "fieldsV1": { "f:spec": {
                      "f:replicas": {},
                      "f:template": { "f:spec": { "f:containers": {
                          "k:{\"name\":\"web\"}": { ".": {}, "f:image": {}, "f:name": {} },
                      } } },
                  } } },
            ],
        },
        "spec": {
            "replicas": 3, "paused": false,
            "template": { "spec": { "containers": [{ "name": "web", "image": "nginx:1", "imagePullPolicy": "Always" }] } },
        },
        "status": { "replicas": 3 },
    })
}

fn written() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": "shop" },
        "spec": {
            "replicas": 3,
            "template": { "spec": { "containers": [{ "name": "web", "image": "nginx:1" }] } },
        },
    })
}

#[track_caller]
fn check(change: impl FnOnce(&mut Value, &mut Value), expected: bool) {
    let (mut written, mut live) = (written(), live());
    change(&mut written, &mut live);
    assert_eq!(is_unchanged(&written, &live, &FieldManager::new("plimsoll")), expected);
}

#[test]
fn what_is_held_and_there_as_written_is_unchanged() {
    check(|_, _| {}, true);
    check(|_, live| live["spec"]["paused"] = json!(true), true);
    check(|_, live| live["status"]["replicas"] = json!(9), true);
}

#[test]
fn another_value_a_field_more_or_a_field_less_is_for_the_server_to_judge() {
    check(|written, _| written["spec"]["replicas"] = json!(4), false);
    check(|_, live| live["spec"]["replicas"] = json!(4), false);
    check(|written, _| written["spec"]["paused"] = json!(false), false);
    check(|written, _| drop(written["spec"].as_object_mut().unwrap().remove("replicas")), false);
    check(|written, _| written["spec"]["replicas"] = Value::Null, false);
    let sidecar = json!({ "name": "sidecar", "image": "proxy" });
    let add = |object: &mut Value| {
        object
            .pointer_mut("/spec/template/spec/containers")
            .unwrap()
            .as_array_mut()
            .unwrap()
            .push(sidecar.clone());
    };
    check(|written, _| add(written), false);
    check(|_, live| add(live), false);
}

#[test]
fn another_way_to_hold_is_for_the_server_to_judge() {
    let ours = "/metadata/managedFields/1";
    let set = |name: &'static str, value: &'static str| {
        move |_: &mut Value, live: &mut Value| live.pointer_mut(ours).unwrap()[name] = json!(value)
    };
    check(set("manager", "kubectl"), false);
    check(set("operation", "Update"), false);
    check(set("subresource", "scale"), false);
    check(set("apiVersion", "apps/v1beta1"), false);
    check(|_, live| live["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"), false);
    check(|_, live| live["metadata"]["managedFields"][0]["fieldsV1"] = json!("no set"), false);
}
