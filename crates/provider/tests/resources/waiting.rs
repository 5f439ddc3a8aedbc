//! `k8sconnect_wait`: what it waits for, what it returns, and how it fails.

use serde_json::json;
use testkit::terraform::Client;

use crate::case::{Case, crd};
use crate::config_map;

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_returns_its_field_and_fails_without_it() {
    for client in Client::all() {
        let case = Case::new("waits", client).await;
        let settings = |phase: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"phase": phase}});
        config_map::wait(&case, "settings", "field = \"data.phase\", timeout = \"1s\"");
        let failed = case.workspace.apply(&[]).expect_failure().text();
        assert!(failed.contains("Wait Operation Failed") && failed.contains("did not appear"), "{failed}");
        assert_eq!(case.workspace.attributes("k8sconnect_wait.settings"), json!(null), "nothing is saved");

        case.namespace.apply_as("other-manager", &settings("one")).await;
        config_map::wait(&case, "settings", "field = \"data.phase\"");
        case.workspace.apply(&[]).expect_success();
        assert_eq!(
            case.workspace.attributes("k8sconnect_wait.settings")["result"],
            json!({"data": {"phase": "one"}})
        );

        // Another value is a change outside Terraform, not a reason to wait again.
        case.namespace.apply_as("other-manager", &settings("two")).await;
        let change = case.workspace.change("k8sconnect_wait.settings");
        assert_eq!(change["actions"], json!(["no-op"]), "{change}");
        assert_eq!(change["after"]["result"], json!({"data": {"phase": "two"}}));

        config_map::wait(&case, "settings", "field_value = { \"data.phase\" = \"two\" }");
        case.workspace.apply(&[]).expect_success();
        assert_eq!(case.workspace.attributes("k8sconnect_wait.settings")["result"], json!(null));
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        case.workspace.destroy().expect_success();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waits_end_when_the_object_is_ready_or_never_will_be() {
    let case = Case::new("rollouts", Client::any()).await;
    let deployment = |name: &str, replicas: u8| {
        let container = json!({"name": "a", "image": "a:1"});
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
            "replicas": replicas, "progressDeadlineSeconds": 1, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"nodeSelector": {"nowhere": "yes"}, "containers": [container]}},
        }})
    };
    let mut job = deployment("once", 0);
    job["apiVersion"] = json!("batch/v1");
    job["kind"] = json!("Job");
    job["spec"] = json!({"suspend": true, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}}});
    for object in [deployment("none", 0), deployment("stuck", 1), job] {
        case.namespace.apply_as("other-manager", &object).await;
    }
    let wait = |name: &str, kind: &str, object: &str, wait_for: &str| {
        let api_version = if kind == "Job" { "batch/v1" } else { "apps/v1" };
        let text = format!(
            "resource \"k8sconnect_wait\" {name:?} {{\n  object_ref = {{ api_version = {api_version:?}, kind = {kind:?}, name = {object:?}, \
             namespace = {:?} }}\n  wait_for = {{ {wait_for} }}\n}}\n",
            case.namespace.name()
        );
        case.workspace.write("wait.tf", &text);
    };
    // Zero replicas are a complete rollout, and predicates filter list items.
    wait("none", "Deployment", "none", "rollout = true");
    case.workspace.apply(&[]).expect_success();
    wait("none", "Deployment", "none", r#"field = "status.conditions[?(@.type==\"Available\")].status""#);
    case.workspace.apply(&[]).expect_success();
    let result = case.workspace.attributes("k8sconnect_wait.none")["result"].clone();
    let conditions = result["status"]["conditions"].as_array().unwrap_or_else(|| panic!("{result}"));
    assert!(conditions.iter().any(|condition| condition == &json!({"status": "True"})), "{result}");

    // A wait that can never succeed ends before its ten minutes are over.
    wait("stuck", "Deployment", "stuck", "rollout = true");
    let never = case.workspace.apply(&[]).expect_failure().text();
    assert!(never.contains("Wait Operation Failed") && never.contains("ProgressDeadlineExceeded"), "{never}");

    wait("once", "Job", "once", "condition = \"Complete\", timeout = \"1s\"");
    let late = case.workspace.apply(&[]).expect_failure().output();
    for expression in ["(?s)Wait Timeout.*Job.*did not", "(?s)Wait Operation Failed.*timeout"] {
        assert!(regex::Regex::new(expression).unwrap().is_match(&late), "{expression}: {late}");
    }
    wait("gone", "Job", "none-such", "condition = \"Complete\", timeout = \"1s\"");
    let absent = case.workspace.apply(&[]).expect_failure().output();
    let expression = "(?s)Wait Operation Failed.*(did not appear|never appeared)";
    assert!(regex::Regex::new(expression).unwrap().is_match(&absent), "{absent}");
    wait("unknown", "Nonsense", "a", "condition = \"Complete\"");
    let unknown = case.workspace.apply(&[]).expect_failure().text();
    assert!(unknown.contains("Failed to Discover GVR"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_of_the_generation_before_is_reported_by_a_refresh_and_does_not_end_a_wait() {
    let case = Case::new("stale", Client::any()).await;
    let group = format!("{}.example.com", case.namespace.name());
    case.object("widgets", &crd("widgets", "Widget"), "");
    case.workspace.apply(&[]).expect_success();
    let resize = async |size: u8| {
        let widget = json!({"apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": size}});
        case.namespace.apply_as("other-manager", &widget).await;
    };
    let report = |generation: u8, endpoint: &str| {
        let status = json!({"status": {"observedGeneration": generation, "endpoint": endpoint}}).to_string();
        let kind = format!("widgets.{group}");
        case.namespace
            .kubectl(&["patch", &kind, "a", "--subresource=status", "--type=merge", "-p", &status])
            .unwrap();
    };
    resize(1).await;
    report(1, "one");
    resize(2).await;
    let wait = |timeout: &str| {
        let text = format!(
            "resource \"k8sconnect_wait\" \"a\" {{\n  object_ref = {{ api_version = \"{group}/v1\", kind = \"Widget\", name = \"a\", \
             namespace = {:?} }}\n  wait_for = {{ field = \"status.endpoint\", timeout = {timeout:?} }}\n}}\n",
            case.namespace.name()
        );
        case.workspace.write("wait.tf", &text);
    };
    wait("1s");
    let stale = case.workspace.apply(&[]).expect_failure().text();
    assert!(stale.contains("the controller has observed generation 1 of 2"), "{stale}");
    report(2, "two");
    wait("30s");
    case.workspace.apply(&[]).expect_success();
    let result = |value: &str| json!({"status": {"endpoint": value}});
    assert_eq!(case.workspace.attributes("k8sconnect_wait.a")["result"], result("two"));

    // A refresh reports the current value, whatever its generation.
    resize(3).await;
    report(2, "three");
    let change = case.workspace.change("k8sconnect_wait.a");
    assert_eq!((&change["actions"], &change["after"]["result"]), (&json!(["no-op"]), &result("three")));
}
