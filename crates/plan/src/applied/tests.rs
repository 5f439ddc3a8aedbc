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
    assert_eq!(is_applied(&written, &FieldManager::new("plimsoll"), &Observed::new(live).unwrap()), expected);
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
    // An item that another manager added to a keyed list stays where it is.
    check(|_, live| add(live), true);
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
}

#[test]
fn values_are_compared_as_kubernetes_reads_them() {
    let limits = |cpu: Value| json!({ "requests": { "cpu": cpu } });
    let with_cpu = |written_cpu: Value, live_cpu: Value, expected: bool| {
        check(
            |written, live| {
                let container = |object: &mut Value, cpu: Value| {
                    object["spec"]["template"]["spec"]["containers"][0]["resources"] = limits(cpu);
                };
                container(written, written_cpu);
                container(live, live_cpu);
                live["metadata"]["managedFields"][1]["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"]
                    ["k:{\"name\":\"web\"}"]["f:resources"] = json!({ "f:requests": { "f:cpu": {} } });
            },
            expected,
        );
    };
    with_cpu(json!("500m"), json!("500m"), true);
    with_cpu(json!("500m"), json!("0.5"), true);
    with_cpu(json!(1), json!("1"), true);
    with_cpu(json!("500m"), json!("501m"), false);
    check(|written, _| written["spec"]["replicas"] = json!(3.0), true);
    check(|written, _| written["spec"]["replicas"] = json!("3"), false);
}

#[test]
fn lists_of_custom_kinds_are_read_as_their_sets_show_them() {
    let written = json!({
        "apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "a"},
        "spec": {"rules": [{"id": "a", "allow": true}, {"id": "c"}], "words": ["x", "y"], "tags": ["t"]},
    });
    let held = json!({"f:spec": {
        "f:rules": {
            r#"k:{"id":"a"}"#: {".": {}, "f:id": {}, "f:allow": {}},
            r#"k:{"id":"c"}"#: {".": {}, "f:id": {}},
        },
        "f:words": {},
        "f:tags": {r#"v:"t""#: {}},
    }});
    let check = |spec: Value, expected: bool| {
        let live = json!({
            "apiVersion": "example.org/v1", "kind": "Thing",
            "metadata": {"name": "a", "managedFields": [
                // A copy in memory may have the set as text, and no fieldsType.
                {"manager": "us", "operation": "Apply", "apiVersion": "example.org/v1", "fieldsV1": held.to_string()},
            ]},
            "spec": spec,
        });
        let is_applied = is_applied(&written, &FieldManager::new("us"), &Observed::new(live).unwrap());
        assert_eq!(is_applied, expected, "{spec}");
    };
    let (a, b, c) = (json!({"id": "a", "allow": true}), json!({"id": "b"}), json!({"id": "c"}));
    check(json!({"rules": [b, a, c], "words": ["x", "y"], "tags": ["s", "t"]}), true);
    check(json!({"rules": [b, c, a], "words": ["x", "y"], "tags": ["s", "t"]}), false);
    check(json!({"rules": [a, b, c], "words": ["y", "x"], "tags": ["s", "t"]}), false);
    check(json!({"rules": [a, b], "words": ["x", "y"], "tags": ["s", "t"]}), false);
}

#[test]
fn items_that_others_add_to_keyed_lists_change_nothing() {
    let template = |env: Value, ports: Value| {
        let containers = json!([{ "name": "a", "env": env, "ports": ports }]);
        json!({ "apiVersion": "v1", "kind": "PodTemplate", "metadata": { "name": "a" }, "template": { "spec": { "containers": containers } } })
    };
    let held = json!({ "f:template": { "f:spec": { "f:containers": { "k:{\"name\":\"a\"}": {
        ".": {}, "f:name": {},
        "f:env": { "k:{\"name\":\"B\"}": { ".": {}, "f:name": {}, "f:value": {} } },
        // Defaults do not belong to the manager, except as part of a key.
        "f:ports": { "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:containerPort": {} } },
    } } } } });
    let written = template(json!([{ "name": "B", "value": "x" }]), json!([{ "containerPort": 80 }]));
    let check = |env: Value, ports: Value| {
        let mut live = template(env, ports);
        live["metadata"]["managedFields"] = json!([{
            "manager": "plimsoll", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": held,
        }]);
        let live = Observed::new(live).unwrap();
        assert!(is_applied(&written, &FieldManager::new("plimsoll"), &live), "{}", live.object());
    };
    let (b, port) = (json!({ "name": "B", "value": "x" }), json!({ "containerPort": 80, "protocol": "TCP" }));
    check(json!([b]), json!([port]));
    let (a, other) =
        (json!({ "name": "A", "value": "x" }), json!({ "containerPort": 79, "protocol": "TCP" }));
    check(json!([a, b]), json!([other, port]));
    check(json!([b, a]), json!([port, other]));
}
