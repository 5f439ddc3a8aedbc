//! The text maps as the Go provider writes them.

use serde_json::json;

use super::*;
use crate::{Schema, identity, leaf_values};

#[test]
fn values_are_rendered_as_the_go_provider_does() {
    let check = |value: Value, expected| assert_eq!(flat_text(&value), expected);
    check(json!("a \"b\""), "a \"b\"");
    check(json!(3), "3");
    check(json!(1_000_000.0), "1e+06");
    check(json!(0.5), "0.5");
    check(json!(true), "true");
    check(json!(null), "<nil>");
    check(json!(["<a>", 1.0]), r#"["\u003ca\u003e",1]"#);
    check(json!({"b": 1, "a": {}}), r#"{"a":{},"b":1}"#);
}

#[test]
fn the_projection_has_positions_of_the_body_and_values_of_the_live_object() {
    let body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": {
        "template": {"spec": {"containers": [{"name": "web", "image": "nginx"}]}},
    }});
    let live = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "shop",
            "annotations": {"k8sconnect.terraform.io/terraform-id": "0123456789ab", "example.com/a.b": "x"},
        },
        "spec": {"template": {"spec": {"containers": [{"name": "sidecar"}, {"name": "web", "image": "nginx:2"}]}}},
    });
    let held = FieldSet::from_json(
        r#"{"f:metadata":{"f:annotations":{"f:k8sconnect.terraform.io/terraform-id":{},"f:example.com/a.b":{}}},
            "f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{},"f:image":{}}}}}}}"#,
    )
    .unwrap();
    let schema = Schema::of(&live);
    let values = leaf_values(&live, &held.union(&identity()), &schema);
    let flat = flat_values(&values, &Positions::of(&body, &schema));
    let lines: Vec<String> = flat.iter().map(|(path, value)| format!("{path} = {value}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    apiVersion = apps/v1
    kind = Deployment
    metadata.annotations.example.com/a.b = x
    metadata.name = web
    metadata.namespace = shop
    spec.template.spec.containers[0].image = nginx:2
    spec.template.spec.containers[0].name = web
    ");
}

#[test]
fn managers_are_listed_by_field_and_ours_comes_first() {
    let body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {
        "template": {"spec": {"containers": [{"name": "web"}]}},
    }});
    let set = |wire: &str| FieldSet::from_json(wire).unwrap();
    let ours = set(
        r#"{"f:metadata":{"f:annotations":{"f:k8sconnect.terraform.io/created-at":{}}},"f:spec":{"f:replicas":{},
            "f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:resources":{"f:limits":{"f:cpu":{}}}}}}}}}"#,
    );
    let kubectl = set(
        r#"{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{},"f:note":{}},
            "f:finalizers":{".":{},"v:\"x\"":{}}},"f:spec":{"f:replicas":{},"f:paused":{}}}"#,
    );
    let controller = set(r#"{"f:status":{".":{},"f:replicas":{}},"f:spec":{"f:paused":{}}}"#);
    let positions = Positions::of(&body, &Schema::of(&body));
    let held = [("k8sconnect", &ours), ("kubectl", &kubectl), ("controller", &controller)];
    let flat = flat_managers(held, "k8sconnect", &positions);
    let lines: Vec<String> = flat.iter().map(|(path, manager)| format!("{path} = {manager}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    metadata.annotations = kubectl
    metadata.annotations.note = kubectl
    metadata.finalizers = kubectl
    metadata.finalizers[=x] = kubectl
    spec.paused = controller
    spec.replicas = k8sconnect
    spec.template.spec.containers[0].resources.limits.cpu = k8sconnect
    ");
}
