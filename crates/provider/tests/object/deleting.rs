//! Objects that shall not or will not go.

use serde_json::json;
use testkit::terraform::Client;

use crate::case::Case;

#[tokio::test(flavor = "multi_thread")]
async fn bug_4_finalizers_hold_an_object_until_force_destroy_takes_them_away() {
    let case = Case::new("delete", Client::any()).await;
    let held = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: NS, finalizers: [example.com/hold]}";
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held"}});
    case.object("held", held, "delete_protection = true");
    case.workspace.apply(&[]).expect_success();
    let protected = case.workspace.destroy().expect_failure().text();
    assert!(protected.contains("Delete Protection Enabled"), "{protected}");

    case.object("held", held, "delete_timeout = \"1s\"");
    case.workspace.apply(&[]).expect_success();
    let blocked = case.workspace.destroy().expect_failure().text();
    assert!(
        blocked.contains("Deletion Blocked by Finalizers") && blocked.contains("example.com/hold"),
        "{blocked}"
    );
    assert!(
        !case.workspace.attributes("k8sconnect_object.held").is_null(),
        "what is still there stays in the state"
    );

    case.object("held", held, "delete_timeout = \"1s\"\nforce_destroy = true");
    case.workspace.apply(&["-refresh=false"]).expect_success();
    let forced = case.workspace.destroy().expect_success().text();
    assert!(forced.contains("Force Destroying Resource with Finalizers"), "{forced}");
    assert_eq!(case.namespace.get(&wanted).await, None);
}
