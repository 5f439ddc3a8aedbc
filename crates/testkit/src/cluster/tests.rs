//! The fixtures themselves, on the shared sandbox.

use serde_json::json;

use super::*;

fn settings(value: &str) -> serde_json::Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": { "k": value, "kept": "x" } })
}

#[tokio::test]
async fn changes_are_recorded_under_the_name_of_the_manager() {
    let namespace = Sandbox::shared().namespace("testkit").await;
    namespace.apply_as("argocd", &settings("a")).await;
    let object = namespace.merge_as("kubectl-edit", &settings(""), &json!({ "data": { "k": "b" } })).await;
    assert_eq!(object["data"]["k"], "b");
    let managers: Vec<_> =
        object["metadata"]["managedFields"].as_array().unwrap().iter().map(|it| &it["manager"]).collect();
    assert_eq!(managers, ["argocd", "kubectl-edit"]);
    let printed = namespace.kubectl(&["get", "configmap", "settings", "-o", "jsonpath={.data.k}"]);
    assert_eq!(printed.as_deref(), Ok("b"));
}

#[tokio::test]
async fn waiting_observes_creation_and_deletion() {
    let namespace = Sandbox::shared().namespace("testkit").await;
    let object = settings("a");
    let (seen, _) = tokio::join!(
        namespace.until(&object, "settings exist", |object| object.is_some()),
        namespace.apply_as("argocd", &object)
    );
    assert_eq!(seen.unwrap()["data"]["k"], "a");
    namespace.kubectl(&["delete", "configmap", "settings", "--wait=false"]).unwrap();
    assert_eq!(namespace.until(&object, "settings are gone", |object| object.is_none()).await, None);
}

#[tokio::test]
async fn namespaces_are_not_shared() {
    let (one, two) =
        tokio::join!(Sandbox::shared().namespace("testkit"), Sandbox::shared().namespace("testkit"));
    assert_ne!(one.name(), two.name());
    assert_eq!(two.get(&settings("a")).await, None);
}
