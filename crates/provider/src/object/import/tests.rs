use serde_json::json;

use super::*;

#[test]
fn bug_23_an_imported_body_is_one_that_can_be_written() {
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
    let state = state_of(&target, &live, Value::Null).unwrap();
    assert_eq!(state.text("id"), Some("0123456789ab"));
    assert_eq!(state.get("delete_protection").as_bool(), Some(false));
    let values = projection::texts(state.get("managed_state_projection")).unwrap();
    assert_eq!(values["data.k"], "v");
}

#[test]
fn bug_23_the_context_is_looked_for_in_every_file_of_the_list() {
    let folder = std::env::temp_dir().join(format!("k8sconnect-import-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let config = |name: &str| format!("apiVersion: v1\ncontexts:\n- name: {name}\n  context: {{}}\n");
    let (first, second) = (folder.join("a"), folder.join("b"));
    std::fs::write(&first, config("one")).unwrap();
    std::fs::write(&second, config("arn:aws:eks:two")).unwrap();
    let list = std::env::join_paths([folder.join("absent"), first, second]).unwrap();
    let environment = Environment { kubeconfig: Some(list), ..Environment::default() };
    assert_eq!(kubeconfig(&environment, "arn:aws:eks:two").unwrap(), config("arn:aws:eks:two"));
    let title = |environment: &Environment, name| kubeconfig(environment, name).unwrap_err().summary;
    assert_eq!(title(&environment, "three"), "Import Failed: Context Not Found");
    assert_eq!(title(&Environment::default(), "x"), "Import Failed: KUBECONFIG Not Found");
    let absent = Environment { kubeconfig: Some(folder.join("absent").into()), ..Environment::default() };
    assert_eq!(title(&absent, "x"), "Import Failed: Kubeconfig File Not Found");
    std::fs::write(folder.join("bad"), "a: [").unwrap();
    let bad = Environment { kubeconfig: Some(folder.join("bad").into()), ..Environment::default() };
    assert_eq!(title(&bad, "x"), "Import Failed: Invalid Kubeconfig");
    std::fs::remove_dir_all(&folder).unwrap();
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
