//! Manifests that other commands printed: lists of a kind, and what `kubectl get -o yaml` prints.

use serde_json::json;
use testkit::{Namespace, Sandbox};

use crate::program::{run, run_with};

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-kubectl-output").await
}

#[tokio::test]
async fn a_list_of_a_kind_is_taken_apart() {
    let ns = namespace().await;
    let map = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    let list = json!({ "apiVersion": "v1", "kind": "ConfigMapList", "metadata": { "resourceVersion": "5" }, "items": [map("a"), map("b")] });
    insta::assert_snapshot!(run_with(&ns, &["apply", "-f", "-"], &list.to_string()), @"
    exit 0
    --- stdout
    + ConfigMap NS/a
    + ConfigMap NS/b
    --- stderr
    2 created
    ");
}

#[tokio::test]
async fn what_kubectl_get_prints_is_understood_for_what_it_is() {
    let ns = namespace().await;
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "live" }, "data": { "k": "v" } });
    ns.apply_as("plimsoll", &map).await;
    let printed = ns.kubectl(&["get", "cm/live", "-o", "yaml"]).unwrap();
    let refused = run_with(&ns, &["plan", "-f", "-"], &printed);
    insta::assert_snapshot!(refused, @r#"
    exit 1
    --- stderr
    error[manifest-server-field]: ConfigMap live has fields that only the API server sets
     --> <stdin>:6:3
      |
    6 |   creationTimestamp: "TIME"
      |   ^^^^^^^^^^^^^^^^^ set by the API server alone

      `kubectl get -o yaml` prints such fields, but they do not belong in a manifest:

        line 6: metadata.creationTimestamp
        line 9: metadata.resourceVersion
        line 10: metadata.uid

    hint: Take them out of the file, or pass --strip to leave them out.
    1 problem
    "#);
    let output = run_with(&ns, &["plan", "-f", "-", "--strip"], &printed);
    assert!(output.starts_with("exit 0"), "{output}");
}

#[tokio::test]
async fn drift_reports_an_object_that_is_being_deleted() {
    let ns = namespace().await;
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "held", "finalizers": ["example.org/held"] } });
    ns.apply_as("plimsoll", &map).await;
    assert!(run_with(&ns, &["drift", "-f", "-"], &map.to_string()).starts_with("exit 0"));
    assert!(run(&ns, &["delete", "cm/held", "--no-wait"]).starts_with("exit 0"));
    insta::assert_snapshot!(run_with(&ns, &["drift", "-f", "-"], &map.to_string()), @"
    exit 2
    --- stdout
    - ConfigMap NS/held
    --- stderr
    warning[object-going]: ConfigMap NS/held is being deleted
      object: ConfigMap NS/held

      Deletion was requested at TIME. What is applied now is deleted with it.

    hint: Wait until it is deleted, then apply again; `plimsoll why` shows what blocks the deletion.
    1 being deleted
    ");
    ns.kubectl(&["patch", "cm/held", "--type=merge", "--patch", r#"{"metadata":{"finalizers":null}}"#])
        .unwrap();
}
