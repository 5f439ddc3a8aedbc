//! Write-only fields in the items of keyed lists, which other managers hold item by item.

use serde_json::{Value, json};
use testkit::terraform::Client;

use crate::case::Case;
use crate::write_only::assert_hidden;

const BODY: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NS}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx
        env: [{name: LEVEL, value: info}, {name: TOKEN, value: none}]";
const ENV: &str = "  yaml_body_wo = <<-YAML
    spec: {template: {spec: {containers: [{name: web, env: [{name: TOKEN, value: hunter2}, {name: KEY, value: hunter3}]}]}}}
  YAML
  yaml_body_wo_version = 1";

async fn env(case: &Case) -> Value {
    let wanted = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
    let live = case.namespace.get(&wanted).await.expect("the Deployment exists");
    live["spec"]["template"]["spec"]["containers"][0]["env"].clone()
}

/// Sets a variable as kubectl does, which takes its value and leaves the item to its other holders.
fn set(case: &Case, variable: &str) {
    case.namespace.kubectl(&["set", "env", "deployment/web", variable]).expect("an administrator may");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_only_element_of_a_keyed_list_overrides_the_written_one() {
    let case = Case::new("write-only-list", Client::any()).await;
    case.object("web", BODY, ENV);
    let applied = case.workspace.apply(&[]).expect_success();
    assert_eq!(
        env(&case).await,
        json!([
            {"name": "LEVEL", "value": "info"}, {"name": "TOKEN", "value": "hunter2"}, {"name": "KEY", "value": "hunter3"},
        ])
    );
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    case.object("web", &BODY.replace("value: info", "value: debug"), ENV);
    let changed = case.workspace.apply(&[]).expect_success();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    assert_hidden(&case, &[&applied, &changed]);
    // What the API server rejects is not quoted.
    case.object("web", BODY, &ENV.replace("name: KEY", "name: '='").replace("= 1", "= 2"));
    let rejected = case.workspace.plan(&[]).expect_failure();
    assert_hidden(&case, &[&rejected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_an_item_is_set_back_and_names_the_manager() {
    for client in Client::all() {
        for version in ["\n  yaml_body_wo_version = 1", ""] {
            let case = Case::new("write-only-item", client.clone()).await;
            case.object("web", BODY, &ENV.replace("\n  yaml_body_wo_version = 1", version));
            case.workspace.apply(&[]).expect_success();
            let written = env(&case).await;
            set(&case, "TOKEN=theirs");
            assert_ne!(env(&case).await, written);
            let planned = case.workspace.plan(&[]).expect_success();
            for part in [
                "Drift Detected - Reverting External Changes",
                "env[1].value: the value differs (modified by: kubectl-set)",
                "(write-only, changed outside by kubectl-set)",
                "0 to add, 1 to change, 0 to destroy",
            ] {
                assert!(planned.text().contains(part), "{version} {part}: {}", planned.output());
            }
            let applied = case.workspace.apply(&[]).expect_success();
            assert_eq!(env(&case).await, written, "{version}");
            case.workspace.plan(&["-detailed-exitcode"]).expect_success();
            assert_hidden(&case, &[&planned, &applied]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_item_is_left_to_others() {
    let case = Case::new("write-only-ignored", Client::any()).await;
    let token = "spec.template.spec.containers[name=web].env[name=TOKEN]";
    for version in ["\n  yaml_body_wo_version = 1", ""] {
        let attributes = ENV.replace("\n  yaml_body_wo_version = 1", version);
        let attributes = format!("{attributes}\n  ignore_fields = [{token:?}]");
        case.object("web", BODY, &attributes);
        case.workspace.apply(&[]).expect_success();
        // Releases the item, and changes another one.
        case.object("web", &BODY.replace("value: info", "value: debug"), &attributes);
        case.workspace.apply(&[]).expect_success();
        set(&case, "TOKEN=theirs");
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        case.object("web", BODY, &attributes);
        case.workspace.apply(&[]).expect_success();
        assert_eq!(env(&case).await[1]["value"], "theirs", "{version}");
        let projection =
            case.workspace.attributes("k8sconnect_object.web")["managed_state_projection"].clone();
        let shown = projection.as_object().unwrap().keys().any(|path| path.contains("env[1].value"));
        assert!(!shown, "{version}: {projection}");
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_is_held_as_a_whole_is_sent_and_not_shown() {
    let case = Case::new("write-only-owner", Client::any()).await;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hunter2"}});
    let owner = case.namespace.apply_as("team", &owner).await;
    let uid = owner["metadata"]["uid"].as_str().unwrap();
    let write = |version: u8, more: &str| {
        let owners = format!(
            "  yaml_body_wo = \"metadata: {{ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: hunter2, uid: {uid}{more}}}]}}\"\n  \
             yaml_body_wo_version = {version}"
        );
        case.object("web", BODY, &owners);
    };
    let references = async || {
        let wanted = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
        case.namespace.get(&wanted).await.unwrap()["metadata"]["ownerReferences"].clone()
    };
    write(1, "");
    let applied = case.workspace.apply(&[]).expect_success();
    assert_eq!(references().await[0]["name"], "hunter2");
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    write(2, ", blockOwnerDeletion: true");
    let changed = case.workspace.apply(&[]).expect_success();
    assert_eq!(references().await[0]["blockOwnerDeletion"], true);
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    assert_hidden(&case, &[&applied, &changed]);
}
