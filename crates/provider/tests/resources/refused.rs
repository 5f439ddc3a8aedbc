use serde_json::json;
use testkit::Sandbox;
use testkit::terraform::Client;

use crate::case::Case;
use crate::config_map;

#[tokio::test(flavor = "multi_thread")]
async fn refused_credentials_in_the_state_keep_the_state_and_warn() {
    let case = Case::new("refused", Client::any()).await;
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}});
    case.namespace.apply_as("other-manager", &settings).await;
    config_map::wait(&case, "settings", "field = \"data.a\"");
    config_map::patch(&case, "settings", "patch = \"data: {c: d}\"");
    case.workspace.apply(&[]).expect_success();

    let asked =
        Sandbox::shared().kubectl(&["config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"]);
    let host = String::from_utf8(asked.stdout).unwrap();
    for resource in ["k8sconnect_wait", "k8sconnect_patch"] {
        case.edit_state(resource, |instance| {
            instance["attributes"]["cluster"] = json!({"host": host, "insecure": true, "token": "expired"});
        });
    }

    let applied = case.workspace.apply(&[]).expect_success().text();
    assert!(applied.contains("Read: Using Prior State — Authentication Failed"), "{applied}");
    assert!(applied.contains("0 added, 2 changed, 0 destroyed"), "{applied}");
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}
