//! Actions through Terraform 1.14.

use serde_json::{Value, json};
use testkit::terraform::{Client, Workspace};

use crate::case::Case;

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NS}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}";

fn web() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}})
}

/// Writes an action about an object of the test's namespace.
fn action(case: &Case, kind: &str, object: &str, more: &str) {
    let namespace = case.namespace.name();
    let text = format!(
        "action {kind:?} \"a\" {{\n  config {{\n    {object}\n    namespace = {namespace:?}\n    {more}\n  }}\n}}\n"
    );
    case.workspace.write(&format!("{kind}.tf"), &text);
}

fn invoke(workspace: &Workspace, kind: &str) -> testkit::terraform::Run {
    workspace.apply(&[&format!("-invoke=action.{kind}.a")])
}

const WEB: &str = "api_version = \"apps/v1\"\n    kind = \"Deployment\"\n    name = \"web\"";

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_replaces_the_pods_and_reports_progress() {
    let case = Case::new("restart", Client::terraform_1_14()).await;
    let ignored = "  ignore_fields = [\"spec.replicas\"]\n  wait_for = { rollout = true }";
    case.object("web", DEPLOYMENT, ignored);
    case.workspace.apply(&[]).expect_success();
    action(&case, "k8sconnect_restart", WEB, "");
    let run = invoke(&case.workspace, "k8sconnect_restart").expect_success();
    assert!(run.text().contains("restarting"), "{}", run.output());
    let live = case.namespace.get(&web()).await.unwrap();
    let annotations = &live["spec"]["template"]["metadata"]["annotations"];
    assert!(annotations["kubectl.kubernetes.io/restartedAt"].is_string(), "{annotations}");
    assert_eq!(live["status"]["observedGeneration"], live["metadata"]["generation"]);
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();

    action(&case, "k8sconnect_scale", WEB, "replicas = 3");
    let run = invoke(&case.workspace, "k8sconnect_scale").expect_success();
    assert!(run.text().contains("to 3"), "{}", run.output());
    assert_eq!(case.namespace.get(&web()).await.unwrap()["status"]["readyReplicas"], 3);
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();

    // A change of its settings restarts it.
    let settings =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: NS}\ndata: {level: info}";
    let trigger = "  lifecycle {\n    action_trigger {\n      events = [after_update]\n      actions = [action.k8sconnect_restart.a]\n    }\n  }";
    case.object("settings", settings, trigger);
    case.workspace.apply(&[]).expect_success();
    let restarted = async || {
        let live = case.namespace.get(&web()).await.unwrap();
        live["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"].clone()
    };
    let before = restarted().await;
    case.object("settings", &settings.replace("info", "debug"), trigger);
    let run = case.workspace.apply(&[]).expect_success();
    assert!(run.text().contains("restarting"), "{}", run.output());
    assert_ne!(restarted().await, before);

    // What would fail is refused by the plan.
    let agent = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": {
        "selector": {"matchLabels": {"app": "agent"}}, "updateStrategy": {"type": "OnDelete"},
        "template": {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}},
    }});
    case.namespace.apply_as("team", &agent).await;
    action(&case, "k8sconnect_restart", &WEB.replace("Deployment", "DaemonSet").replace("web", "agent"), "");
    let refused = invoke(&case.workspace, "k8sconnect_restart").expect_failure().text();
    assert!(refused.contains("Restart Refused") && refused.contains("update strategy OnDelete"), "{refused}");
    action(&case, "k8sconnect_restart", WEB, "");
    case.namespace.kubectl(&["rollout", "pause", "deployment/web"]).unwrap();
    let refused = invoke(&case.workspace, "k8sconnect_restart").expect_failure().text();
    assert!(refused.contains("Restart Refused") && refused.contains("is paused"), "{refused}");
    let settings = "api_version = \"v1\"\n    kind = \"ConfigMap\"\n    name = \"kube-root-ca.crt\"";
    action(&case, "k8sconnect_scale", settings, "replicas = 1");
    let refused = invoke(&case.workspace, "k8sconnect_scale").expect_failure().text();
    assert!(refused.contains("Scale Refused") && refused.contains("has no scale subresource"), "{refused}");
    action(&case, "k8sconnect_restart", settings, "");
    let invalid = case.workspace.validate().expect_failure().text();
    assert!(invalid.contains("Restart Not Supported"), "{invalid}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_reports_what_holds_the_object() {
    let case = Case::new("delete-action", Client::terraform_1_14()).await;
    let mut settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let target = settings.clone();
    settings["metadata"]["finalizers"] = json!(["example.com/hold"]);
    case.namespace.apply_as("team", &settings).await;
    let object = "api_version = \"v1\"\n    kind = \"ConfigMap\"\n    name = \"a\"";
    action(&case, "k8sconnect_delete", object, "timeout = \"5s\"");
    let held = invoke(&case.workspace, "k8sconnect_delete").expect_failure().text();
    assert!(held.contains("held by its finalizers: example.com/hold"), "{held}");
    assert!(case.namespace.get(&target).await.is_some());
    action(&case, "k8sconnect_delete", object, "timeout = \"2s\"\n    force = true");
    let forced = invoke(&case.workspace, "k8sconnect_delete").expect_success().text();
    assert!(forced.contains("Force Destroying Resource with Finalizers"), "{forced}");
    assert!(case.namespace.get(&target).await.is_none());
    let absent = invoke(&case.workspace, "k8sconnect_delete").expect_success().text();
    assert!(absent.contains("does not exist"), "{absent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_without_a_name_or_with_a_negative_timeout_changes_nothing() {
    let case = Case::new("nameless", Client::terraform_1_14()).await;
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    case.namespace.apply_as("team", &settings).await;
    let object = |name: &str| format!("api_version = \"v1\"\n    kind = \"ConfigMap\"\n    name = {name:?}");
    for name in ["", "a/b"] {
        for kind in ["k8sconnect_delete", "k8sconnect_scale"] {
            action(&case, kind, &object(name), if kind == "k8sconnect_scale" { "replicas = 1" } else { "" });
            let refused = invoke(&case.workspace, kind).expect_failure().text();
            assert!(refused.contains("Invalid Name"), "{refused}");
        }
    }
    action(&case, "k8sconnect_delete", &object("a"), "timeout = \"-1s\"");
    let refused = invoke(&case.workspace, "k8sconnect_delete").expect_failure().text();
    assert!(refused.contains("timeout is negative"), "{refused}");
    assert!(case.namespace.get(&settings).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_action_ends_at_once_and_says_what_goes_on() {
    let case = Case::new("cancelled", Client::terraform_1_14()).await;
    let mut settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    settings["metadata"]["finalizers"] = json!(["example.com/hold"]);
    case.namespace.apply_as("team", &settings).await;
    let object = "api_version = \"v1\"\n    kind = \"ConfigMap\"\n    name = \"a\"";
    action(&case, "k8sconnect_delete", object, "timeout = \"10m\"");
    let mut running = case.workspace.start(&[
        "apply",
        "-no-color",
        "-input=false",
        "-auto-approve",
        "-invoke=action.k8sconnect_delete.a",
    ]);
    running.wait_for("held by its finalizers");
    running.interrupt();
    let output = running.wait().expect_failure().text();
    assert!(output.contains("Delete Interrupted"), "{output}");
    assert!(output.contains("What was requested continues in the cluster"), "{output}");
}
