//! Write-only fields: in the cluster, and in no plan, state or message.

use serde_json::{Value, json};
use testkit::terraform::{Client, Run};

use crate::case::Case;

const BODY: &str = "apiVersion: v1
kind: Secret
metadata: {name: db, namespace: NS}
stringData: {user: shop, password: placeholder}";

/// The attributes of a write-only password.
fn password(value: &str, version: &str) -> String {
    let version =
        if version.is_empty() { String::new() } else { format!("  yaml_body_wo_version = {version}\n") };
    format!("  yaml_body_wo = yamlencode({{ stringData = {{ password = {value:?} }} }})\n{version}")
}

async fn live(case: &Case) -> Value {
    data(case).await["password"].clone()
}

async fn data(case: &Case) -> Value {
    let wanted = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}});
    case.namespace.get(&wanted).await.expect("the Secret exists")["data"].clone()
}

/// The base64 forms of the passwords in this file.
const HUNTER2: &str = "aHVudGVyMg==";
const HUNTER3: &str = "aHVudGVyMw==";

/// No output and no file of the workspace but the configuration has a password.
#[track_caller]
pub(crate) fn assert_hidden(case: &Case, runs: &[&Run]) {
    let state = std::fs::read_to_string(case.workspace.path("terraform.tfstate")).expect("a state");
    let output: String = runs.iter().map(|run| run.output()).collect();
    for secret in ["hunter", HUNTER2, HUNTER3] {
        assert!(!state.contains(secret), "{state}");
        assert!(!output.contains(secret), "{output}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_decides_when_a_write_only_value_is_sent() {
    for client in Client::all() {
        let case = Case::new("write-only", client).await;
        case.object("db", BODY, &password("hunter2", "1"));
        let created = case.workspace.apply(&[]).expect_success();
        assert_eq!(live(&case).await, HUNTER2);
        let projection = &case.workspace.attributes("k8sconnect_object.db")["managed_state_projection"];
        assert_eq!(projection["data.password"], "(write-only)");
        assert!(projection["data.user"].as_str().unwrap().starts_with("(sensitive"), "{projection}");

        // Another value of the same version is not sent, whatever else changes.
        case.object("db", BODY, &password("hunter3", "1"));
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        case.object("db", &BODY.replace("user: shop", "user: web"), &password("hunter3", "1"));
        let other = case.workspace.apply(&[]).expect_success();
        assert_eq!(live(&case).await, HUNTER2);

        case.object("db", &BODY.replace("user: shop", "user: web"), &password("hunter3", "2"));
        let change = case.workspace.change("k8sconnect_object.db");
        assert_eq!(change["actions"], json!(["update"]), "{change}");
        assert_eq!(change["after_unknown"]["managed_fields"], true, "{change}");
        let rotated = case.workspace.apply(&[]).expect_success();
        assert_eq!(live(&case).await, HUNTER3);
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();

        // A field that is added is sent, and rotates no other one.
        let more = "  yaml_body_wo = yamlencode({ stringData = { password = \"hunter9\", pin = \"hunter2\" } })\n  \
                    yaml_body_wo_version = 2";
        case.object("db", &BODY.replace("user: shop", "user: web"), more);
        let change = case.workspace.change("k8sconnect_object.db");
        assert_eq!(change["after_unknown"]["managed_fields"], true, "{change}");
        let added = case.workspace.apply(&[]).expect_success();
        assert_eq!(data(&case).await["password"], HUNTER3);
        assert_eq!(data(&case).await["pin"], HUNTER2);
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        assert_hidden(&case, &[&created, &other, &rotated, &added]);
        case.workspace.destroy().expect_success();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_write_only_value_names_the_manager_and_is_set_back() {
    for client in Client::all() {
        let case = Case::new("write-only-drift", client).await;
        case.object("db", BODY, &password("hunter2", "1"));
        case.workspace.apply(&[]).expect_success();
        let edit = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"},
        "data": {"password": HUNTER3}});
        case.namespace.apply_as("rotator", &edit).await;
        assert_eq!(case.workspace.change("k8sconnect_object.db")["after_unknown"]["managed_fields"], true);
        let plan = case.workspace.plan(&[]).expect_success();
        assert!(plan.text().contains("(write-only, changed outside by rotator)"), "{}", plan.output());
        assert!(plan.text().contains("0 to add, 1 to change, 0 to destroy"), "{}", plan.output());
        let applied = case.workspace.apply(&[]).expect_success();
        assert_eq!(live(&case).await, HUNTER2);
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        assert_hidden(&case, &[&plan, &applied]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_version_the_value_is_compared_with_the_live_object() {
    for client in Client::all() {
        let case = Case::new("write-only-compared", client).await;
        case.object("db", BODY, &password("hunter2", ""));
        case.workspace.apply(&[]).expect_success();
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        case.object("db", BODY, &password("hunter3", ""));
        let change = case.workspace.change("k8sconnect_object.db");
        assert_eq!(change["after_unknown"]["managed_fields"], true, "{change}");
        let applied = case.workspace.apply(&[]).expect_success();
        assert_eq!(live(&case).await, HUNTER3);
        assert_hidden(&case, &[&applied]);
        // Without its write-only part, the body alone says what the object has.
        case.object("db", BODY, "");
        let removed = case.workspace.apply(&[]).expect_success();
        assert_eq!(live(&case).await, "cGxhY2Vob2xkZXI=");
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        assert_hidden(&case, &[&removed]);
    }
}

const CONFIG_MAP: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: db, namespace: NS}
data: {password: placeholder, pin: none, user: shop}";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_longer_write_only_is_set_to_what_the_body_says() {
    let case = Case::new("write-only-dropped", Client::any()).await;
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "db"}});
    let data = async || case.namespace.get(&wanted).await.unwrap()["data"].clone();
    let secrets =
        |fields: &str| format!("  yaml_body_wo = \"data: {{{fields}}}\"\n  yaml_body_wo_version = 1");
    case.object("db", CONFIG_MAP, &secrets("password: hunter2, pin: hunter3"));
    case.workspace.apply(&[]).expect_success();
    assert_eq!(data().await, json!({"password": "hunter2", "pin": "hunter3", "user": "shop"}));
    // One of the fields, under the same version.
    case.object("db", CONFIG_MAP, &secrets("password: hunter2"));
    let change = case.workspace.change("k8sconnect_object.db");
    assert_eq!(change["after_unknown"]["managed_fields"], true, "{change}");
    let one = case.workspace.apply(&[]).expect_success();
    assert_eq!(data().await, json!({"password": "hunter2", "pin": "none", "user": "shop"}));
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    // All of them, of a part without a version.
    case.object("db", CONFIG_MAP, "  yaml_body_wo = \"data: {password: hunter2}\"");
    case.workspace.apply(&[]).expect_success();
    case.object("db", CONFIG_MAP, "");
    let all = case.workspace.apply(&[]).expect_success();
    assert_eq!(data().await["password"], "placeholder");
    let projection = &case.workspace.attributes("k8sconnect_object.db")["managed_state_projection"];
    assert_eq!(projection["data.password"], "placeholder");
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    assert_hidden(&case, &[&one, &all]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_rejects_shows_no_value_that_is_sent_again() {
    let case = Case::new("write-only-rotated", Client::any()).await;
    let job = "apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: NS}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: 'a:1'}]";
    let token = |value: &str| {
        format!(
            "  yaml_body_wo = \"spec: {{template: {{spec: {{containers: [{{name: a, env: [{{name: TOKEN, value: '{value}'}}]}}]}}}}}}\"\n  \
             yaml_body_wo_version = 1"
        )
    };
    case.object("once", job, &token("hunter&2"));
    case.workspace.apply(&[]).expect_success();
    // The ephemeral value has rotated, its version has not: the live one is sent again.
    case.object("once", &job.replace("a:1", "a:2"), &token("other"));
    let replaced = case.workspace.plan(&[]).expect_success();
    assert!(replaced.text().contains("Immutable Field Changed"), "{}", replaced.output());
    assert_hidden(&case, &[&replaced]);
}

#[tokio::test(flavor = "multi_thread")]
async fn conflict_policy_applies_to_write_only_fields() {
    let case = Case::new("write-only-policy", Client::any()).await;
    let with = |policy: &str| {
        case.object("db", BODY, &format!("{}  conflict_policy = {policy:?}", password("hunter2", "1")));
    };
    with("fail");
    case.workspace.apply(&[]).expect_success();
    let edit = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"},
        "data": {"password": HUNTER3}});
    case.namespace.apply_as("rotator", &edit).await;
    let title = "Drift Detected - Reverting External Changes";
    let failed = case.workspace.plan(&[]).expect_failure();
    assert!(failed.text().contains(&format!("Error: {title}")), "{}", failed.output());
    assert!(failed.text().contains("data.password: the value differs"), "{}", failed.output());
    assert_eq!(live(&case).await, HUNTER3);
    with("warn");
    let warned = case.workspace.plan(&[]).expect_success();
    assert!(warned.text().contains(&format!("Warning: {title}")), "{}", warned.output());
    with("ignore");
    let ignored = case.workspace.apply(&[]).expect_success();
    assert!(!ignored.text().contains(title), "{}", ignored.output());
    assert_eq!(live(&case).await, HUNTER2);
    assert_hidden(&case, &[&failed, &warned, &ignored]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_is_waited_for_as_any_other_change_is() {
    let case = Case::new("write-only-wait", Client::any()).await;
    let web = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NS}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'web:1'}]}";
    let secret = |fields: &str, version: u8| {
        format!(
            "  yaml_body_wo = \"spec: {{template: {{{fields}}}}}\"\n  yaml_body_wo_version = {version}\n  \
             wait_for = {{ rollout = true, timeout = \"1s\" }}"
        )
    };
    case.object(
        "web",
        web,
        &secret("metadata: {annotations: {key: hunter2}}", 1).replace("timeout = \"1s\"", "timeout = \"1m\""),
    );
    case.workspace.apply(&[]).expect_success();
    // No node has it, so that the rollout does not finish.
    case.object(
        "web",
        web,
        &secret("metadata: {annotations: {key: hunter2}}, spec: {nodeSelector: {disk: none}}", 2),
    );
    let unfinished = case.workspace.apply(&[]).expect_failure().text();
    assert!(unfinished.contains("within 1s"), "{unfinished}");
}
