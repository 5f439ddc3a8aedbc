use serde_json::json;

use super::*;
use crate::object::object;

const MANAGER: &str = "apiextensions.crossplane.io/composed/1a";

/// A Deployment as we ask for it, and with it what managedFields say once it is applied.
fn asked() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "shop", "labels": {"app": "web"},
            "ownerReferences": [{"apiVersion": "example.org/v1", "kind": "XR", "name": "x", "uid": "u", "controller": true}],
        },
        "spec": {
            "replicas": 2.0,
            "template": {"spec": {"containers": [{
                "name": "web", "image": "web:1", "ports": [{"containerPort": 80}],
                "resources": {"requests": {"cpu": "500m"}},
            }]}},
        },
    })
}

fn held_by_us() -> Value {
    json!({
        "f:metadata": {"f:labels": {"f:app": {}}, "f:ownerReferences": {r#"k:{"uid":"u"}"#: {}}},
        "f:spec": {
            "f:replicas": {},
            "f:template": {"f:spec": {"f:containers": {r#"k:{"name":"web"}"#: {
                ".": {}, "f:name": {}, "f:image": {},
                "f:ports": {r#"k:{"containerPort":80,"protocol":"TCP"}"#: {".": {}, "f:containerPort": {}}},
                "f:resources": {"f:requests": {"f:cpu": {}}},
            }}}},
        },
    })
}

/// The Deployment as the API server has it: with defaults, a status, and fields of others.
fn live() -> Value {
    let mut live = asked();
    live["metadata"]["resourceVersion"] = "7".into();
    live["metadata"]["labels"]["theirs"] = "x".into();
    live["metadata"]["managedFields"] = json!([
        {"manager": "kubectl", "operation": "Update", "apiVersion": "apps/v1", "fieldsV1": {"f:metadata": {}}},
        {"manager": MANAGER, "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": held_by_us()},
    ]);
    live["spec"]["replicas"] = 2.into();
    live["spec"]["template"]["spec"]["containers"][0]["ports"][0]["protocol"] = "TCP".into();
    live["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "0.5".into();
    live["status"] = json!({"readyReplicas": 2});
    live
}

#[test]
fn an_apply_nobody_remembers_is_known_by_what_its_manager_holds() {
    let check = |name: &str, as_asked: bool, change: fn(&mut Value, &mut Value)| {
        let (mut intent, mut there) = (asked(), live());
        change(&mut intent, &mut there);
        assert_eq!(is_as_asked(&object(intent), &object(there), MANAGER), as_asked, "{name}");
    };
    check("nothing has changed", true, |_, _| {});
    check("as text", true, |_, live| {
        let fields = &mut live["metadata"]["managedFields"][1]["fieldsV1"];
        *fields = fields.to_string().into();
    });
    check("a value is another", false, |_, live| live["spec"]["replicas"] = 3.into());
    check("a value is to be another", false, |intent, _| intent["spec"]["replicas"] = 3.into());
    check("a field is new", false, |intent, _| intent["spec"]["paused"] = false.into());
    check("a field is to be let go of", false, |intent, _| {
        intent["metadata"]["labels"] = json!({});
    });
    check("a field is another's", false, |_, live| {
        let fields = &mut live["metadata"]["managedFields"][1]["fieldsV1"];
        fields["f:spec"].as_object_mut().unwrap().remove("f:replicas");
    });
    check("a list element is new", false, |intent, _| {
        let containers = &mut intent["spec"]["template"]["spec"]["containers"];
        containers.as_array_mut().unwrap().push(json!({"name": "proxy"}));
    });
    check("applied in another version", false, |_, live| {
        live["metadata"]["managedFields"][1]["apiVersion"] = "apps/v1beta1".into();
    });
    check("written, not applied", false, |_, live| {
        live["metadata"]["managedFields"][1]["operation"] = "Update".into();
    });
    check("the status was applied", false, |_, live| {
        live["metadata"]["managedFields"][1]["subresource"] = "status".into();
    });
    check("applied by another", false, |_, live| {
        live["metadata"]["managedFields"][1]["manager"] = "other".into();
    });
    check("nobody says who holds what", false, |_, live| {
        live["metadata"].as_object_mut().unwrap().remove("managedFields");
    });
}

#[test]
fn lists_of_custom_kinds_are_read_as_their_sets_show_them() {
    let intent = object(json!({
        "apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "a"},
        "spec": {"rules": [{"id": "a", "allow": true}], "words": ["x", "y"], "tags": ["t"]},
    }));
    let held = json!({"f:spec": {
        "f:rules": {r#"k:{"id":"a"}"#: {".": {}, "f:id": {}, "f:allow": {}}},
        "f:words": {},
        "f:tags": {r#"v:"t""#: {}},
    }});
    let live = |spec: Value| {
        object(json!({
            "apiVersion": "example.org/v1", "kind": "Thing",
            "metadata": {"name": "a", "managedFields": [
                {"manager": MANAGER, "operation": "Apply", "apiVersion": "example.org/v1", "fieldsV1": held},
            ]},
            "spec": spec,
        }))
    };
    let theirs = json!({
        "rules": [{"id": "b"}, {"id": "a", "allow": true}], "words": ["x", "y"], "tags": ["s", "t"],
    });
    assert!(is_as_asked(&intent, &live(theirs.clone()), MANAGER));
    let mut reordered = theirs;
    reordered["words"] = json!(["y", "x"]);
    assert!(!is_as_asked(&intent, &live(reordered), MANAGER));
}
