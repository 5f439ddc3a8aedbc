use serde_json::json;

use super::*;

fn check(taken: Option<MovedObject>, target: &str, managers: &[&str], body: &str) {
    let taken = taken.unwrap();
    assert_eq!(taken.target.to_string(), target);
    assert_eq!(taken.managers.iter().map(FieldManager::as_str).collect::<Vec<_>>(), managers);
    assert_eq!(taken.yaml, body);
}

#[test]
fn a_manifest_is_taken_as_it_was_written() {
    let manifest = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop", "labels": null},
        "data": {"k": "v"},
    });
    let body = "apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: shop\n";
    let state = json!({"manifest": {"type": ["object", {}], "value": manifest}, "field_manager": []});
    check(from_manifest(&state), "ConfigMap shop/a", &["Terraform"], body);
    let named =
        json!({"manifest": {"type": "dynamic", "value": manifest}, "field_manager": [{"name": "ci"}]});
    check(from_manifest(&named), "ConfigMap shop/a", &["ci"], body);
    assert!(from_manifest(&json!({})).is_none());
}

#[test]
fn kubectl_keeps_the_text_and_may_have_moved_it_to_another_namespace() {
    let body = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";
    let state = json!({"yaml_body": body, "override_namespace": "shop", "namespace": ""});
    let managers = ["kubectl", "kubectl-client-side-apply", "HashiCorp"];
    check(from_kubectl(&state), "Pod shop/a", &managers, body);
    check(from_kubectl(&json!({"yaml_body": body})), "Pod default/a", &managers, body);
    assert!(from_kubectl(&json!({"yaml_body": "no: object"})).is_none());
}

#[test]
fn typed_resources_identify_the_object_and_the_cluster_has_its_body() {
    let kind = || "v1/ConfigMap".parse().unwrap();
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: shop\n";
    let taken = from_typed(&json!({"id": "shop/a", "data": {"k": "v"}}), kind()).unwrap();
    assert!(taken.body_missing);
    let response = taken.response();
    assert!(response.private.flag(BODY_MISSING) && response.private.flag(IMPORTED));
    check(from_typed(&json!({"id": "shop/a"}), kind()), "ConfigMap shop/a", &["HashiCorp"], body);
    assert!(from_typed(&json!({}), kind()).is_none());
}
