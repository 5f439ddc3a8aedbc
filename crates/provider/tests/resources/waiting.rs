use serde_json::json;
use testkit::terraform::Client;

use crate::case::Case;
use crate::config_map;

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_hands_out_what_it_waited_for_and_fails_without() {
    let case = Case::new("waits", Client::any()).await;
    let settings = |phase: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"phase": phase}});
    config_map::wait(&case, "settings", "field = \"data.phase\", timeout = \"1s\"");
    let failed = case.workspace.apply(&[]).expect_failure().text();
    assert!(failed.contains("Wait Operation Failed") && failed.contains("did not appear"), "{failed}");
    assert_eq!(case.workspace.attributes("k8sconnect_wait.settings"), json!(null), "nothing is saved");

    case.namespace.apply_as("somebody", &settings("one")).await;
    config_map::wait(&case, "settings", "field = \"data.phase\"");
    case.workspace.apply(&[]).expect_success();
    assert_eq!(
        case.workspace.attributes("k8sconnect_wait.settings")["result"],
        json!({"data": {"phase": "one"}})
    );

    // Another value is a change outside Terraform, and no reason to wait again.
    case.namespace.apply_as("somebody", &settings("two")).await;
    let change = case.workspace.change("k8sconnect_wait.settings");
    assert_eq!(change["actions"], json!(["no-op"]), "{change}");
    assert_eq!(change["after"]["result"], json!({"data": {"phase": "two"}}));

    config_map::wait(&case, "settings", "field_value = { \"data.phase\" = \"two\" }");
    case.workspace.apply(&[]).expect_success();
    assert_eq!(case.workspace.attributes("k8sconnect_wait.settings")["result"], json!(null));
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    case.workspace.destroy().expect_success();
}
