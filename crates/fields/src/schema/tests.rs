//! What is known about lists, maps and quantities, from the table and learned.

use serde_json::json;

use super::*;
use crate::FieldPath;

fn shape_at<'s>(schema: &'s Schema, path: &str) -> Shape<'s> {
    path.split('.')
        .fold(schema.root(), |shape, name| if name == "[]" { shape.element() } else { shape.field(name) })
}

fn keys(kind: ListKind<'_>) -> String {
    match kind {
        ListKind::Atomic => "atomic".to_owned(),
        ListKind::Set => "set".to_owned(),
        ListKind::Keyed(keys) => {
            let keys = keys.iter().map(|key| match &key.default {
                Some(default) => format!("{}={default}", key.name),
                None => key.name.to_string(),
            });
            keys.collect::<Vec<_>>().join(",")
        }
    }
}

#[test]
fn lists_of_built_in_kinds_are_keyed_as_the_server_keys_them() {
    let check = |api_version, kind, path, expected| {
        let schema = Schema::of_kind(api_version, kind);
        assert_eq!(keys(shape_at(&schema, path).list_kind()), expected, "{kind} {path}");
    };
    check("apps/v1", "Deployment", "spec.template.spec.containers", r#"name="""#);
    check(
        "apps/v1",
        "Deployment",
        "spec.template.spec.containers.[].ports",
        r#"containerPort=0,protocol="TCP""#,
    );
    check("apps/v1", "Deployment", "spec.template.spec.containers.[].env", r#"name="""#);
    check("apps/v1", "Deployment", "spec.template.spec.containers.[].volumeMounts", r#"mountPath="""#);
    check("apps/v1", "Deployment", "spec.template.spec.containers.[].args", "atomic");
    check("apps/v1", "Deployment", "spec.template.spec.tolerations", "atomic");
    check("v1", "Service", "spec.ports", r#"port=0,protocol="TCP""#);
    check("v1", "Namespace", "metadata.finalizers", "set");
    check("v1", "Pod", "metadata.ownerReferences", r#"uid="""#);
    check("example.com/v1", "Widget", "metadata.finalizers", "set");
    check("example.com/v1", "Widget", "spec.parts", "atomic");
}

#[test]
fn what_is_held_as_a_whole_is_known() {
    let check = |path, expected| {
        let schema = Schema::of_kind("apps/v1", "Deployment");
        assert_eq!(shape_at(&schema, path).is_atomic(), expected, "{path}");
    };
    check("spec", false);
    check("spec.selector", true);
    check("spec.template.spec.nodeSelector", true);
    check("spec.template.spec.containers.[].env.[].valueFrom.secretKeyRef", true);
    check("metadata.labels", false);
    let volume = Schema::of_kind("v1", "PersistentVolume");
    assert!(!shape_at(&volume, "spec.claimRef").is_atomic(), "the field overrules its type");
}

#[test]
fn quantities_and_int_or_string_are_known_where_they_are() {
    let deployment = Schema::of_kind("apps/v1", "Deployment");
    let container = "spec.template.spec.containers.[]";
    assert!(shape_at(&deployment, &format!("{container}.resources.limits.cpu")).is_quantity());
    let limits = shape_at(&deployment, &format!("{container}.resources.limits"));
    assert!(limits.field("example.com/gpu").is_quantity());
    assert!(shape_at(&deployment, "spec.strategy.rollingUpdate.maxSurge").is_int_or_string());
    assert!(!shape_at(&deployment, "spec.replicas").is_quantity());
}

#[test]
fn keys_of_custom_lists_are_learned_from_sets() {
    let wire = r#"{"f:spec":{"f:parts":{"k:{\"id\":1}":{".":{},"f:tags":{"v:\"a\"":{}}}},"f:whole":{}}}"#;
    let schema = Schema::of(&json!({"apiVersion": "example.com/v1", "kind": "Widget"}))
        .learning_from(&FieldSet::from_json(wire).unwrap());
    assert_eq!(keys(shape_at(&schema, "spec.parts").list_kind()), "id");
    assert_eq!(keys(shape_at(&schema, "spec.parts.[].tags").list_kind()), "set");
    assert_eq!(keys(shape_at(&schema, "spec.whole").list_kind()), "atomic");
    let path: FieldPath = [PathElement::field("spec"), PathElement::field("parts"), PathElement::Index(7)]
        .into_iter()
        .collect();
    let below = path.elements().iter().fold(schema.root(), Shape::step);
    assert_eq!(below.field("tags").list_kind(), ListKind::Set);
}
