use serde_json::{Value, json};
use testkit::Sandbox;
use testkit::terraform::Client;

use crate::case::Case;

#[tokio::test(flavor = "multi_thread")]
async fn bug_18_refused_credentials_in_the_state_keep_the_state_and_warn() {
    let case = Case::new("refused", Client::any()).await;
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}});
    case.namespace.apply_as("somebody", &settings).await;
    let reference = format!(
        "{{ api_version = \"v1\", kind = \"ConfigMap\", name = \"settings\", namespace = {:?} }}",
        case.namespace.name()
    );
    let text = format!(
        "resource \"k8sconnect_wait\" \"settings\" {{\n  object_ref = {reference}\n  wait_for = {{ field = \"data.a\" }}\n}}\n\
         resource \"k8sconnect_patch\" \"settings\" {{\n  target = {reference}\n  patch = \"data: {{c: d}}\"\n}}\n"
    );
    case.workspace.write("main.tf", &text);
    case.workspace.apply(&[]).expect_success();

    let asked =
        Sandbox::shared().kubectl(&["config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"]);
    let host = String::from_utf8(asked.stdout).unwrap();
    let path = case.workspace.path("terraform.tfstate");
    let mut state: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for resource in state["resources"].as_array_mut().unwrap() {
        resource["instances"][0]["attributes"]["cluster"] =
            json!({"host": host, "insecure": true, "token": "expired"});
    }
    state["serial"] = json!(100);
    std::fs::write(&path, state.to_string()).unwrap();

    let applied = case.workspace.apply(&[]).expect_success().text();
    assert!(applied.contains("Read: Using Prior State — Authentication Failed"), "{applied}");
    assert!(applied.contains("0 added, 2 changed, 0 destroyed"), "{applied}");
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}
