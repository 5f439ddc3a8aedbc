use serde_json::json;
use testkit::terraform::Client;

use crate::case::Case;

fn wait(case: &Case, wait_for: &str) {
    let text = format!(
        "resource \"k8sconnect_wait\" \"phase\" {{\n  object_ref = {{ api_version = \"v1\", kind = \"ConfigMap\", name = \
         \"settings\", namespace = {:?} }}\n  wait_for = {{ {wait_for} }}\n}}\n",
        case.namespace.name()
    );
    case.workspace.write("wait.tf", &text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_hands_out_what_it_waited_for_and_fails_without() {
    let case = Case::new("waits", Client::any()).await;
    let settings = |phase: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"phase": phase}});
    wait(&case, "field = \"data.phase\", timeout = \"1s\"");
    let failed = case.workspace.apply(&[]).expect_failure().text();
    assert!(failed.contains("Wait Operation Failed") && failed.contains("did not appear"), "{failed}");
    assert_eq!(case.workspace.attributes("k8sconnect_wait.phase"), json!(null), "nothing is saved");

    case.namespace.apply_as("somebody", &settings("one")).await;
    wait(&case, "field = \"data.phase\"");
    case.workspace.apply(&[]).expect_success();
    assert_eq!(
        case.workspace.attributes("k8sconnect_wait.phase")["result"],
        json!({"data": {"phase": "one"}})
    );

    // Another value is a change outside Terraform, and no reason to wait again.
    case.namespace.apply_as("somebody", &settings("two")).await;
    let change = case.workspace.change("k8sconnect_wait.phase");
    assert_eq!(change["actions"], json!(["no-op"]), "{change}");
    assert_eq!(change["after"]["result"], json!({"data": {"phase": "two"}}));

    wait(&case, "field_value = { \"data.phase\" = \"two\" }");
    case.workspace.apply(&[]).expect_success();
    assert_eq!(case.workspace.attributes("k8sconnect_wait.phase")["result"], json!(null));
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    case.workspace.destroy().expect_success();
}
