//! `wait_for` and the `status` it yields.

use serde_json::json;
use testkit::terraform::Client;

use crate::case::{Case, crd};

#[tokio::test(flavor = "multi_thread")]
async fn a_waited_field_is_the_status_and_nothing_else() {
    let case = Case::new("wait", Client::any()).await;
    let space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS-space}";
    case.object("space", space, "wait_for = { field = \"status.phase\" }");
    case.workspace
        .write("outputs.tf", "output \"phase\" {\n  value = k8sconnect_object.space.status.phase\n}\n");
    let applied = case.workspace.apply(&[]).expect_success().text();
    assert!(applied.contains("phase = \"Active\""), "{applied}");
    assert_eq!(case.workspace.attributes("k8sconnect_object.space")["status"], json!({"phase": "Active"}));
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_does_not_finish_is_owed_until_it_has() {
    let case = Case::new("owed", Client::any()).await;
    let web = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a, namespace: NS}\nspec: {accessModes: [ReadWriteOnce], \
               storageClassName: none, resources: {requests: {storage: 1Gi}}}";
    let wait = |field: &str| format!("wait_for = {{ field = \"status.{field}\", timeout = \"1s\" }}");
    case.object("a", web, &wait("capacity.storage"));
    // The object exists; losing it because of a wait would be worse than not having waited.
    let created = case.workspace.apply(&[]).expect_success().text();
    assert!(created.contains("Warning:") && created.contains("was not populated within 1s"), "{created}");
    let change = case.workspace.change("k8sconnect_object.a");
    assert_eq!(change["actions"], json!(["update"]), "{change}");
    assert_eq!(change["after_unknown"]["status"], true, "{change}");

    // In an update it is an error, the state is kept, and the wait is still pending.
    let updated = case.workspace.apply(&[]).expect_failure().text();
    assert!(updated.contains("Error:") && updated.contains("was not populated within 1s"), "{updated}");
    let patch = r#"{"status":{"capacity":{"storage":"1Gi"}}}"#;
    case.namespace
        .kubectl(&["patch", "pvc", "a", "--subresource=status", "--type=merge", "-p", patch])
        .unwrap();
    case.workspace.apply(&[]).expect_success();
    assert_eq!(
        case.workspace.attributes("k8sconnect_object.a")["status"],
        json!({"capacity": {"storage": "1Gi"}})
    );
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_of_the_generation_before_does_not_end_a_wait() {
    let case = Case::new("stale", Client::any()).await;
    let widget = |size: u8| {
        format!(
            "apiVersion: NS.example.com/v1\nkind: Widget\nmetadata: {{name: a, namespace: NS}}\nspec: {{size: {size}}}"
        )
    };
    let report = |generation: u8| {
        let conditions = json!([{"type": "Ready", "status": "True"}]);
        let status =
            json!({"status": {"observedGeneration": generation, "conditions": conditions}}).to_string();
        let kind = format!("widgets.{}.example.com", case.namespace.name());
        case.namespace
            .kubectl(&["patch", &kind, "a", "--subresource=status", "--type=merge", "-p", &status])
            .unwrap();
    };
    case.object("widgets", &crd("widgets", "Widget"), "");
    case.object("a", &widget(1), "");
    case.workspace.apply(&[]).expect_success();
    report(1);
    case.object("a", &widget(2), "wait_for = { condition = \"ready\", timeout = \"1s\" }");
    let stale = case.workspace.apply(&[]).expect_failure().text();
    assert!(stale.contains("the controller has observed generation 1 of 2"), "{stale}");
    report(2);
    case.workspace.apply(&[]).expect_success();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}
