//! Conflicts with other managers: what is said about them, and `conflict_policy`.

use serde_json::{Value, json};
use testkit::terraform::Client;

use crate::case::Case;

const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: NS}\nspec:\n  replicas: 3\n  \
                   selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    \
                   spec: {containers: [{name: web, image: 'web:1'}]}";

fn web() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}})
}

fn config_map(value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: NS}}\ndata: {{k: {value}}}")
}

fn settings() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_third_time_a_field_is_taken_back_is_a_fight_and_its_autoscaler_is_named() {
    let case = Case::new("fight", Client::any()).await;
    let autoscaler = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web-scaler"},
        "spec": {"maxReplicas": 9, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    });
    case.namespace.apply_as("kubectl", &autoscaler).await;
    case.object("web", WEB, "");
    case.workspace.apply(&[]).expect_success();
    for time in 1..=3 {
        case.namespace.merge_as("scaler", &web(), &json!({"spec": {"replicas": 5}})).await;
        let shown = case.workspace.apply(&[]).expect_success().text();
        assert!(shown.contains("Drift Detected - Reverting External Changes"), "{shown}");
        assert!(shown.contains("HorizontalPodAutoscaler") && shown.contains("web-scaler"), "{shown}");
        let fight = "scaler has set spec.replicas again after each of the last 2 applies";
        assert_eq!(shown.contains(fight), time == 3, "{time}: {shown}");
        assert!(shown.contains("ignore_fields = [\"spec.replicas\"]"), "{shown}");
    }
    // An apply without a conflict ends it.
    case.object("web", &WEB.replace("web:1", "web:2"), "");
    case.workspace.apply(&[]).expect_success();
    case.namespace.merge_as("scaler", &web(), &json!({"spec": {"replicas": 5}})).await;
    let shown = case.workspace.plan(&[]).expect_success().text();
    assert!(!shown.contains("has set spec.replicas again"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn conflict_policy_warns_fails_or_ignores_and_never_decides_who_gets_the_field() {
    let case = Case::new("policy", Client::any()).await;
    let title = "Drift Detected - Reverting External Changes";
    case.object("a", &config_map("v"), "");
    case.workspace.apply(&[]).expect_success();
    case.namespace.merge_as("intruder", &settings(), &json!({"data": {"k": "theirs"}})).await;

    case.object("a", &config_map("v"), "conflict_policy = \"fail\"");
    let failed = case.workspace.plan(&[]).expect_failure().text();
    assert!(failed.contains(&format!("Error: {title}")), "{failed}");
    assert!(case.workspace.apply(&[]).expect_failure().text().contains(title));
    assert_eq!(case.namespace.get(&settings()).await.unwrap()["data"]["k"], "theirs");

    // The resource's own policy wins over the provider's.
    case.provider(&format!("conflict_policy = \"fail\"\n  cluster = {{ {} }}", Case::reach()));
    case.object("a", &config_map("v"), "conflict_policy = \"ignore\"");
    let ignored = case.workspace.apply(&[]).expect_success().text();
    assert!(!ignored.contains(title), "{ignored}");
    assert_eq!(case.namespace.get(&settings()).await.unwrap()["data"]["k"], "v");

    case.object("a", &config_map("v"), "");
    case.workspace.apply(&[]).expect_success();
    case.namespace.merge_as("intruder", &settings(), &json!({"data": {"k": "theirs"}})).await;
    assert!(case.workspace.plan(&[]).expect_failure().text().contains(title));
    case.object("a", &config_map("v"), "conflict_policy = \"never\"");
    assert!(case.workspace.validate().expect_failure().text().contains("\"never\""));
}

/// Terraform makes an ordinary plan before it destroys anything.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_plan_would_refuse_blocks_a_destroy() {
    for client in Client::all() {
        let case = Case::new("destroy", client).await;
        let title = "Drift Detected - Reverting External Changes";
        let drift = async || {
            case.namespace.merge_as("intruder", &settings(), &json!({"data": {"k": "theirs"}})).await;
        };
        let fail = "conflict_policy = \"fail\"";
        case.object("a", &config_map("v"), fail);
        for arguments in [&["destroy", "-auto-approve"][..], &["apply", "-destroy", "-auto-approve"]] {
            case.workspace.apply(&[]).expect_success();
            drift().await;
            assert!(case.workspace.plan(&[]).expect_failure().text().contains(title));
            let planned = case.workspace.plan(&["-destroy"]).expect_success().text();
            assert!(planned.contains("1 to destroy"), "{planned}");
            let destroyed = case.workspace.run(arguments).expect_success().text();
            assert!(destroyed.contains("1 destroyed"), "{destroyed}");
            assert_eq!(case.namespace.get(&settings()).await, None);
        }

        // What the server rejects: a change of the body, and an object that was never created.
        case.workspace.apply(&[]).expect_success();
        case.object("a", &config_map("{}"), fail);
        case.object(
            "never",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'not a name', namespace: NS}",
            "",
        );
        case.workspace.plan(&[]).expect_failure();
        case.workspace.destroy().expect_success();
        assert_eq!(case.namespace.get(&settings()).await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_a_refresh_says_that_it_sets_nothing_back() {
    let case = Case::new("unrefreshed", Client::any()).await;
    case.object("a", &config_map("v"), "");
    case.workspace.apply(&[]).expect_success();
    case.namespace.merge_as("intruder", &settings(), &json!({"data": {"k": "theirs"}})).await;
    let shown = case.workspace.plan(&["-detailed-exitcode", "-refresh=false"]).expect_success().text();
    assert!(!shown.contains("will be set back"), "{shown}");
    assert!(shown.contains("This plan leaves them as they are"), "{shown}");
    let shown = case.workspace.plan(&[]).expect_success().text();
    assert!(shown.contains("will be set back") && shown.contains("1 to change"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_was_edited_here_and_there_is_shown_with_all_three_values() {
    let case = Case::new("concurrent", Client::any()).await;
    case.object("a", &config_map("before"), "");
    case.workspace.apply(&[]).expect_success();
    case.namespace.merge_as("intruder", &settings(), &json!({"data": {"k": "theirs"}})).await;
    case.object("a", &config_map("mine"), "");
    let shown = case.workspace.plan(&[]).expect_success().text();
    assert!(shown.contains("Ownership Conflict - Overwriting Concurrent External Changes"), "{shown}");
    let text = shown.split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
    let line = "data.k: \"before\" → \"mine\" (modified by: intruder; external wanted: \"theirs\", you specified: \"mine\")";
    assert!(text.contains(line), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_was_set_once_is_not_taken_from_an_active_manager() {
    let case = Case::new("taking", Client::any()).await;
    let long = "x".repeat(46_945);
    let theirs =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": long}});
    case.namespace.apply_as("kubectl-create", &theirs).await;
    case.object("a", &config_map("v"), "");
    let id = format!(":{}:v1/ConfigMap:a", case.namespace.name());
    case.workspace.import("k8sconnect_object.a", &id).expect_success();
    let shown = case.workspace.plan(&[]).expect_success().text();
    assert!(shown.contains("Ownership Conflict - Taking Field from Active Controller"), "{shown}");
    assert!(shown.contains("from the manager that set them last"), "{shown}");
    let warning = &shown[shown.find("Ownership Conflict").unwrap()..];
    assert!(warning.contains("modified by: kubectl-create") && warning.contains("last set 20"), "{warning}");
    assert!(warning.contains("(46945 characters)") && !warning.contains(&"x".repeat(200)), "{warning}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_change_that_makes_our_body_invalid_blocks_neither_plan_nor_destroy() {
    for client in Client::all() {
        let case = Case::new("clash", client).await;
        let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: NS}\nspec:\n  selector: {app: web}\n  \
                       ports: [{name: http, port: 80}]";
        case.object("web", service, "");
        case.workspace.apply(&[]).expect_success();
        let wanted = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}});
        let theirs =
            json!({"spec": {"ports": [{"name": "http", "port": 8080, "protocol": "TCP", "targetPort": 80}]}});
        case.namespace.merge_as("kubectl-edit", &wanted, &theirs).await;

        let shown = case.workspace.plan(&[]).expect_success().text();
        assert!(shown.contains("Warning: Plan: "), "{shown}");
        let text = shown.split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
        assert!(text.contains("port=8080") && text.contains("(modified by: kubectl-edit)"), "{text}");
        assert!(text.contains("Remove what clashes from the live object"), "{text}");
        let refused = case.workspace.apply(&[]).expect_failure().text();
        assert!(refused.contains("Error: Update: ") && refused.contains("port=8080"), "{refused}");
        // A change of the body is the author's own.
        case.object("web", &service.replace("port: 80}", "port: 81}"), "");
        case.workspace.plan(&[]).expect_failure();
        case.object("web", service, "");
        case.workspace.destroy().expect_success();
        assert_eq!(case.namespace.get(&wanted).await, None);
    }
}
