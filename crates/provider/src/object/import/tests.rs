use serde_json::json;

use super::*;

#[test]
fn an_imported_body_is_one_that_can_be_written() {
    let live = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "1", "generation": 2,
            "creationTimestamp": "t", "managedFields": [],
            "annotations": {
                "deployment.kubernetes.io/revision": "1", "k8sconnect.terraform.io/terraform-id": "0123456789ab",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
            },
        },
        "spec": {"replicas": 1, "template": {"metadata": {"creationTimestamp": null, "labels": {"a": "b"}}}},
        "status": {"replicas": 1},
    });
    let yaml = yaml_of(&live);
    insta::assert_snapshot!(yaml, @r"
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
      namespace: shop
    spec:
      replicas: 1
      template:
        metadata:
          labels:
            a: b
    ");
    assert_eq!(crate::body::check(&yaml), []);
}

#[test]
fn a_state_of_an_import_keeps_the_id_of_its_object() {
    let target = ObjectRef::new("v1/ConfigMap".parse().unwrap(), Namespace::new("shop"), "a");
    let live = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"},
        "metadata": {"name": "a", "namespace": "shop", "annotations": {"k8sconnect.terraform.io/terraform-id": "0123456789ab"}},
    });
    let state = state_of(&target, live, Value::Null, &MaskKey::FORMER).unwrap();
    assert_eq!(state.text("id"), Some("0123456789ab"));
    assert_eq!(state.get("delete_protection").as_bool(), Some(false));
    let values = crate::projection::texts(state.get("managed_state_projection")).unwrap();
    assert_eq!(values["data.k"], "v");
}

#[test]
fn the_most_mature_version_is_imported() {
    let best = |versions: &[&str]| {
        let kinds =
            versions.iter().map(|version| format!("g.io/{version}/K").parse::<GroupVersionKind>().unwrap());
        kinds.max_by_key(maturity).unwrap().version().to_owned()
    };
    assert_eq!(best(&["v1beta1", "v1", "v2alpha1"]), "v1");
    assert_eq!(best(&["v1beta1", "v1beta2", "v1alpha3"]), "v1beta2");
    assert_eq!(best(&["v1", "v2"]), "v2");
}
