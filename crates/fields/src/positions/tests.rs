//! How paths are printed for the reader of a manifest.

use serde_json::json;

use super::*;
use crate::written;

#[test]
fn items_are_printed_by_their_position_in_the_written_body() {
    let body = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"labels": {"app.kubernetes.io/name": "web"}, "finalizers": ["b", "a"]},
        "spec": {"containers": [
            {"name": "web", "image": "nginx", "ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}]},
            {"name": "api", "args": ["-v"]},
        ]},
    });
    let schema = Schema::of(&body);
    let positions = Positions::of(&body, &schema);
    let mut printed: Vec<String> =
        written(&body, &schema).leaves().paths().iter().map(|path| positions.print(path)).collect();
    printed.sort();
    assert_eq!(
        printed,
        [
            "apiVersion",
            "kind",
            "metadata.finalizers[0]",
            "metadata.finalizers[1]",
            "metadata.labels.app.kubernetes.io/name",
            "spec.containers[0].image",
            "spec.containers[0].name",
            "spec.containers[0].ports[0].containerPort",
            "spec.containers[0].ports[0].protocol",
            "spec.containers[0].ports[1].containerPort",
            "spec.containers[1].args",
            "spec.containers[1].name",
        ]
    );
}

#[test]
fn items_the_body_lacks_keep_their_key() {
    let body = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "web"}]}});
    let positions = Positions::of(&body, &Schema::of(&body));
    let check = |path: &[PathElement], expected| assert_eq!(positions.print(&path.into()), expected);
    let (spec, containers) = (PathElement::field("spec"), PathElement::field("containers"));
    let sidecar = PathElement::key([("name", json!("sidecar"))]);
    check(
        &[spec.clone(), containers.clone(), sidecar, PathElement::field("image")],
        "spec.containers[name=sidecar].image",
    );
    check(&[spec, containers, PathElement::Index(4)], "spec.containers[4]");
    check(&[PathElement::field("x"), PathElement::value(json!(1))], "x[=1]");
    check(&[], "");
}

#[test]
fn a_key_with_an_unknown_default_still_finds_its_item() {
    let body =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"parts": [{"id": 1}, {"id": 2}]}});
    let key = PathElement::key([("id", json!(2)), ("side", json!("left"))]);
    let path: FieldPath =
        [PathElement::field("spec"), PathElement::field("parts"), key].into_iter().collect();
    let schema = Schema::of(&body).learning_from(&[path.clone()].into_iter().collect());
    assert_eq!(Positions::of(&body, &schema).print(&path), "spec.parts[1]");
}
