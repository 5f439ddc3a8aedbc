use fields::IgnoreFields;
use ownership::FieldManager;
use serde_json::json;

use super::*;

fn manager() -> FieldManager {
    FieldManager::new("k8sconnect")
}

fn maps(object: &Value, written: &Value, ignore: &[&str]) -> Maps {
    let ignored = IgnoreFields::parse(ignore).unwrap();
    let observed = Observed::new(object.clone()).unwrap();
    Maps::of(&observed, &Desired::new(&manager(), written).ignoring(&ignored), &MaskKey::FORMER)
}

fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
    json!({
        "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields,
    })
}

/// Lines `path = value`.
fn lines(map: &BTreeMap<String, String>) -> String {
    map.iter().map(|(path, text)| format!("{path} = {text}")).collect::<Vec<_>>().join("\n")
}

#[test]
fn keys_with_dots_are_projected() {
    let written = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"app.kubernetes.io/name": "x"}},
        "data": {"app.conf": "y"},
    });
    let mut live = written.clone();
    live["metadata"]["namespace"] = json!("shop");
    live["metadata"]["annotations"] = json!({"k8sconnect.terraform.io/terraform-id": "0123456789ab"});
    live["metadata"]["managedFields"] = json!([entry(
        "k8sconnect",
        "Apply",
        &json!({
            "f:metadata": {
                "f:labels": {"f:app.kubernetes.io/name": {}},
                "f:annotations": {"f:k8sconnect.terraform.io/terraform-id": {}},
            },
            "f:data": {"f:app.conf": {}},
        })
    )]);
    insta::assert_snapshot!(lines(&maps(&live, &written, &[]).values), @r"
    apiVersion = v1
    data.app.conf = y
    kind = ConfigMap
    metadata.labels.app.kubernetes.io/name = x
    metadata.name = a
    metadata.namespace = shop
    ");
    insta::assert_snapshot!(lines(&maps(&live, &written, &["data['app.conf']"]).managers), @r"
    data.app.conf = k8sconnect
    metadata.labels.app.kubernetes.io/name = k8sconnect
    ");
    assert!(!maps(&live, &written, &["data['app.conf']"]).values.contains_key("data.app.conf"));
}

#[test]
fn set_lists_are_projected() {
    let written = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "finalizers": ["example.com/b", "example.com/a"]},
    });
    let mut live = written.clone();
    live["metadata"]["finalizers"] = json!(["example.com/a", "example.com/b"]);
    live["metadata"]["managedFields"] = json!([entry(
        "k8sconnect",
        "Apply",
        &json!({
            "f:metadata": {"f:finalizers": {"v:\"example.com/a\"": {}, "v:\"example.com/b\"": {}}},
        })
    )]);
    insta::assert_snapshot!(lines(&maps(&live, &written, &[]).values), @r"
    apiVersion = v1
    kind = ConfigMap
    metadata.finalizers[0] = example.com/b
    metadata.finalizers[1] = example.com/a
    metadata.name = a
    ");
}

fn deployment(containers: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": containers}}},
    })
}

#[test]
fn positions_follow_the_body_and_values_the_merge_key() {
    let written = deployment(&json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]));
    // Another order, and a container that a webhook has inserted at the front, in our name.
    let mut live = deployment(&json!([
        {"name": "proxy", "image": "p:1"}, {"name": "b", "image": "b:2"}, {"name": "a", "image": "a:2"},
    ]));
    let container =
        |name: &str| (format!("k:{{\"name\":\"{name}\"}}"), json!({".": {}, "f:name": {}, "f:image": {}}));
    let set = |names: &[&str]| {
        let items: serde_json::Map<String, Value> = names.iter().map(|name| container(name)).collect();
        json!({"f:spec": {"f:template": {"f:spec": {"f:containers": items}}}})
    };
    live["metadata"]["managedFields"] = json!([
        entry("k8sconnect", "Apply", &set(&["a", "b"])),
        entry("k8sconnect", "Update", &set(&["proxy"])),
        entry("injector", "Update", &set(&["proxy"])),
    ]);
    let maps = maps(&live, &written, &[]);
    insta::assert_snapshot!(lines(&maps.values), @r"
    apiVersion = apps/v1
    kind = Deployment
    metadata.name = web
    spec.template.spec.containers[0].image = a:2
    spec.template.spec.containers[0].name = a
    spec.template.spec.containers[1].image = b:2
    spec.template.spec.containers[1].name = b
    ");
    assert_eq!(maps.managers["spec.template.spec.containers[0].image"], "k8sconnect");
}

#[test]
fn values_of_a_secret_are_masked() {
    let written = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": "shop"}, "data": {"password": "aHVudGVyMg=="},
    });
    let mut live = written.clone();
    live["metadata"]["managedFields"] =
        json!([entry("k8sconnect", "Apply", &json!({"f:stringData": {"f:password": {}}}))]);
    let maps = maps(&live, &written, &[]);
    assert_eq!(maps.values["data.password"], "(sensitive sha256:6afc38ad)");
    assert_eq!(maps.managers["data.password"], "k8sconnect");
    // The key of new masks is made at apply, and everything else is as planned.
    assert_eq!(maps.planned_values(false), attribute(&maps.values));
    let mut planned = maps.planned_values(true);
    let open = planned.as_object().unwrap();
    assert!(open.get("data.password").is_unknown() && open.get("metadata.name").as_str() == Some("db"));
    let found = BTreeMap::from([("data.password", "(sensitive hmac:1)"), ("metadata.name", "other")]);
    planned =
        filled(&planned, &found.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect());
    let filled = planned.as_object().unwrap();
    assert_eq!(filled.get("data.password").as_str(), Some("(sensitive hmac:1)"));
    assert_eq!(filled.get("metadata.name").as_str(), Some("db"));
}

#[test]
fn written_fields_are_shown_while_none_are_held() {
    let written =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "mine"}});
    let mut live = written.clone();
    live["data"] = json!({"k": "theirs", "other": "x"});
    live["metadata"]["managedFields"] =
        json!([entry("kubectl", "Update", &json!({"f:data": {".": {}, "f:k": {}, "f:other": {}}}))]);
    let maps = maps(&live, &written, &[]);
    assert_eq!(maps.values["data.k"], "theirs");
    assert!(!maps.values.contains_key("data.other"));
    assert_eq!(maps.managers["data.other"], "kubectl");
}

#[test]
fn fields_to_be_released_are_no_longer_shown_as_ours() {
    let written = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v", "l": "w"}});
    let mut live = written.clone();
    live["metadata"]["managedFields"] =
        json!([entry("k8sconnect", "Apply", &json!({"f:data": {"f:k": {}, "f:l": {}}}))]);
    let ignored = IgnoreFields::parse(["data.k"]).unwrap();
    let (manager, live) = (manager(), Observed::new(live).unwrap());
    let desired = Desired::new(&manager, &written).ignoring(&ignored);
    let released = FieldSet::from_iter([FieldPath::of_fields(["data", "k"])]);
    let maps = Maps::after_release(&live, &desired, &released, &MaskKey::FORMER);
    assert!(!maps.managers.contains_key("data.k") && !maps.values.contains_key("data.k"));
    assert_eq!(maps.managers["data.l"], "k8sconnect");
}
