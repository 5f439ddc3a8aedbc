//! From create to destroy, with the requests counted.

use serde_json::{Value, json};
use testkit::terraform::Client;

use crate::case::Case;

const SETTINGS: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: NS
  labels:
    app.kubernetes.io/name: shop
data:
  app.conf: one
  level: info";

/// The limits are the request budget: create 4, unchanged plan 1, change 5, destroy 5.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_lives_from_create_to_destroy_with_few_requests() {
    for client in Client::all() {
        let mut case = Case::new("lifecycle", client).await;
        let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}});
        case.object("settings", SETTINGS, "");
        case.workspace.apply(&[]).expect_success();
        let created = case.requests();
        assert!(created.len() <= 4, "{created:#?}");
        let live = case.namespace.get(&wanted).await.unwrap();
        assert_eq!(live["data"]["app.conf"], "one");

        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        let looked = case.requests();
        assert!(looked.len() <= 1, "{looked:#?}");

        // First only the notation changes, then one dotted key.
        let reordered = "# the same\nkind: ConfigMap\napiVersion: v1\ndata: {level: info, app.conf: one}\nmetadata: {name: settings, \
                         namespace: NS, labels: {app.kubernetes.io/name: shop}}";
        case.object("settings", reordered, "");
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        case.requests();
        case.object("settings", &SETTINGS.replace("one", "two"), "");
        case.workspace.apply(&[]).expect_success();
        let changed = case.requests();
        assert!(changed.len() <= 5, "{changed:#?}");
        let after = case.namespace.get(&wanted).await.unwrap();
        assert_eq!(after["data"]["app.conf"], "two");
        let annotations = |object: &Value| object["metadata"]["annotations"].clone();
        assert_eq!(annotations(&after), annotations(&live), "created-at stays");

        case.workspace.destroy().expect_success();
        let destroyed = case.requests();
        assert!(destroyed.len() <= 5, "{destroyed:#?}");
        assert_eq!(case.namespace.get(&wanted).await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_runs_once_per_process() {
    let mut case = Case::new("discovery", Client::any()).await;
    for number in 0..12 {
        let body = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{number}, namespace: NS}}");
        case.object(&format!("a{number}"), &body, "");
    }
    case.workspace.apply(&[]).expect_success();
    let created = case.requests();
    assert!(created.len() <= 4 * 12, "{}: {created:#?}", created.len());
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    let looked = case.requests();
    assert!(looked.len() <= 12, "{}: {looked:#?}", looked.len());
}

/// After a few reads a list returns the rest; changed and deleted objects are reported as with single reads, and
/// deleting a listed object is as careful as any deletion.
#[tokio::test(flavor = "multi_thread")]
async fn many_objects_of_a_kind_are_read_at_once_and_each_as_it_is() {
    const OBJECTS: usize = 60;
    let mut case = Case::new("many", Client::any()).await;
    let many = format!(
        "resource \"k8sconnect_object\" \"many\" {{\n  count = {OBJECTS}\n  yaml_body = <<-YAML\n    apiVersion: v1\n    kind: \
         ConfigMap\n    metadata: {{name: \"a${{count.index}}\", namespace: {}}}\n    data: {{k: v}}\n  YAML\n}}\n",
        case.namespace.name()
    );
    case.workspace.write("many.tf", &many);
    case.workspace.apply(&[]).expect_success();
    case.requests();

    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    let looked = case.requests();
    assert!(looked.iter().any(|request| request.starts_with("list ")), "{looked:#?}");
    assert!(looked.len() <= OBJECTS / 2, "{}: {looked:#?}", looked.len());

    let wanted = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    for name in ["a7", "a53"] {
        case.namespace.merge_as("other-manager", &wanted(name), &json!({"data": {"k": "other"}})).await;
    }
    for name in ["a11", "a59"] {
        case.namespace.kubectl(&["delete", "configmap", name]).unwrap();
    }
    let output = case.workspace.plan(&[]).expect_success().text();
    assert!(output.contains("Plan: 2 to add, 2 to change, 0 to destroy."), "{output}");

    // One belongs to another owner by now, and stays.
    let taken =
        json!({"metadata": {"annotations": {"k8sconnect.terraform.io/terraform-id": "000000000000"}}});
    case.namespace.merge_as("other-manager", &wanted("a30"), &taken).await;
    case.requests();
    case.workspace
        .run(&["destroy", "-no-color", "-input=false", "-auto-approve", "-refresh=false"])
        .expect_success();
    let destroyed = case.requests();
    assert!(destroyed.len() <= 2 * OBJECTS, "{}: {destroyed:#?}", destroyed.len());
    assert!(case.namespace.get(&wanted("a30")).await.is_some());
    for name in ["a0", "a7", "a29", "a53"] {
        assert_eq!(case.namespace.get(&wanted(name)).await, None, "{name}");
    }
}
