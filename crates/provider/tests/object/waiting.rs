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

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_for_a_job_tells_of_its_pods() {
    let case = Case::new("job", Client::any()).await;
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once, namespace: NS}\nspec:\n  template:\n    spec: \
               {restartPolicy: Never, nodeSelector: {disk: none}, containers: [{name: main, image: 'a:1'}]}";
    case.object("once", job, "");
    case.workspace.apply(&[]).expect_success();
    let unscheduled = "jsonpath={.items[*].status.conditions[?(@.type==\"PodScheduled\")].reason}";
    while case.namespace.kubectl(&["get", "pods", "-o", unscheduled]).as_deref() != Ok("Unschedulable") {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    case.object("once", job, "wait_for = { condition = \"Complete\", timeout = \"1s\" }");
    let shown = case.workspace.apply(&[]).expect_failure().text();
    assert!(shown.contains("Pods: 1 active, 0 succeeded, 0 failed"), "{shown}");
    assert!(shown.contains("cannot be scheduled (Unschedulable)"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_a_refresh_may_not_read_is_unknown_in_the_next_plan() {
    let case = Case::new("stale_read", Client::any()).await;
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a, namespace: NS}\nspec: {accessModes: \
                 [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}";
    // The plan may read with the new connection, the refresh may not with the old one.
    let host =
        case.namespace.kubectl(&["config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"]).unwrap();
    case.namespace.kubectl(&["create", "serviceaccount", "writer"]).unwrap();
    let account = format!("--serviceaccount={}:writer", case.namespace.name());
    case.namespace.kubectl(&["create", "rolebinding", "writer", "--clusterrole=admin", &account]).unwrap();
    let token = case.namespace.kubectl(&["create", "token", "writer"]).unwrap();
    let (host, token) = (host.trim(), token.trim());
    let attributes = format!(
        "wait_for = {{ field = \"status.phase\" }}\ncluster = {{ host = {host:?}, insecure = true, token = {token:?} }}"
    );
    case.object("a", claim, &attributes);
    case.workspace.apply(&[]).expect_success();
    case.edit_state("k8sconnect_object", |instance| {
        instance["attributes"]["cluster"]["token"] = json!("expired");
    });
    let change = case.workspace.change("k8sconnect_object.a");
    assert_eq!(change["after_unknown"]["status"], true, "{change}");
    case.workspace.apply(&[]).expect_success();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    assert_eq!(case.workspace.attributes("k8sconnect_object.a")["status"], json!({"phase": "Pending"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_equal_items_is_a_list_and_a_tuple_in_the_state_stays_one() {
    let case = Case::new("lists", Client::any()).await;
    case.object("crd", &crd("widgets", "Widget"), "");
    case.object(
        "w",
        "apiVersion: NS.example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: NS}\nspec: {size: 1}",
        "wait_for = { field = \"status.addresses\" }\ndepends_on = [k8sconnect_object.crd]",
    );
    case.workspace
        .write("outputs.tf", "output \"addresses\" {\n  value = k8sconnect_object.w.status.addresses\n}\n");
    let running = case.workspace.start(&["apply", "-no-color", "-input=false", "-auto-approve"]);
    let kind = format!("widgets.{}.example.com", case.namespace.name());
    let patch = r#"{"status":{"addresses":[{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]}}"#;
    let arguments = ["patch", &kind, "a", "--subresource=status", "--type=merge", "-p", patch];
    while case.namespace.kubectl(&arguments).is_err() {
        tokio::task::yield_now().await;
    }
    running.wait().expect_success();
    let types = || {
        let text = std::fs::read_to_string(case.workspace.path("terraform.tfstate")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["outputs"]["addresses"]["type"][0].clone()
    };
    assert_eq!(types(), "list");

    // What version 0.1.0 wrote.
    let tuple = json!(["tuple", [["object", {"ip": "string"}], ["object", {"ip": "string"}]]]);
    let path = case.workspace.path("terraform.tfstate");
    let mut state: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    state["serial"] = json!(100);
    state["outputs"]["addresses"]["type"] = tuple.clone();
    let resources = state["resources"].as_array_mut().unwrap().iter_mut();
    for resource in resources.filter(|resource| resource["name"] == "w") {
        resource["instances"][0]["attributes"]["status"]["type"] = json!(["object", {"addresses": tuple}]);
    }
    std::fs::write(&path, state.to_string()).unwrap();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}
