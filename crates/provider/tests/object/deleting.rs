//! Objects that must not be deleted, or whose deletion is stuck.

use serde_json::json;
use testkit::terraform::Client;

use crate::case::Case;

#[tokio::test(flavor = "multi_thread")]
async fn finalizers_hold_an_object_until_force_destroy_removes_them() {
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

#[tokio::test(flavor = "multi_thread")]
async fn dependents_of_a_job_are_deleted_with_it() {
    let case = Case::new("garbage", Client::any()).await;
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once, namespace: NS}\nspec: {suspend: true, template: {spec: {restartPolicy: \
               Never, containers: [{name: a, image: 'a:1'}]}}}";
    case.object("once", job, "");
    case.workspace.apply(&[]).expect_success();
    let wanted = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}});
    let uid = case.namespace.get(&wanted).await.unwrap()["metadata"]["uid"].clone();
    let dependent = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "log", "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "once", "uid": uid},
        ]},
    });
    case.namespace.apply_as("worker", &dependent).await;
    case.workspace.destroy().expect_success();
    // By default the API orphans the pods of batch/v1 Jobs.
    case.namespace.until(&dependent, "what belonged to the job is gone", |found| found.is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn destroying_with_expired_credentials_uses_those_of_the_provider() {
    let case = Case::new("expired", Client::any()).await;
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let sandbox = testkit::Sandbox::shared();
    let view = sandbox.kubectl(&["config", "view", "--raw", "--minify", "-o", "json"]).stdout;
    let kubeconfig = String::from_utf8(view).unwrap();
    let mut expired: serde_json::Value = serde_json::from_str(&kubeconfig).unwrap();
    expired["users"][0]["user"] = json!({"token": "expired"});
    case.workspace.write("kubeconfig.json", &kubeconfig);
    case.object(
        "a",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}",
        "cluster = { kubeconfig = file(\"kubeconfig.json\") }",
    );
    case.workspace.apply(&[]).expect_success();
    case.edit_state("k8sconnect_object", |instance| {
        instance["attributes"]["cluster"]["kubeconfig"] = json!(expired.to_string());
    });

    case.provider("");
    let refused = case.workspace.destroy().expect_failure().text();
    assert!(refused.contains("Delete: Authentication Failed"), "{refused}");
    assert!(refused.contains("Apply once with new credentials"), "{refused}");
    assert!(case.namespace.get(&wanted).await.is_some());

    case.provider(&format!("cluster = {{ {} }}", Case::reach()));
    case.workspace.destroy().expect_success();
    assert_eq!(case.namespace.get(&wanted).await, None);
}
