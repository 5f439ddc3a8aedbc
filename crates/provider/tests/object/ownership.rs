//! Drift, ignored fields and Secrets.

use serde_json::json;
use testkit::terraform::Client;

use crate::case::Case;

const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NS}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: 'web:1'}";

#[tokio::test(flavor = "multi_thread")]
async fn drift_is_named_before_it_is_reverted_and_ignored_fields_keep_their_values() {
    let case = Case::new("ownership", Client::any()).await;
    let wanted = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
    let replicas = async || case.namespace.get(&wanted).await.unwrap()["spec"]["replicas"].clone();
    case.object("web", WEB, "");
    case.workspace.apply(&[]).expect_success();
    assert_eq!(
        case.workspace.attributes("k8sconnect_object.web")["managed_fields"]["spec.replicas"],
        "k8sconnect"
    );

    case.namespace.merge_as("kubectl-scale", &wanted, &json!({"spec": {"replicas": 5}})).await;
    let plan = case.workspace.plan(&[]).expect_success().text();
    assert!(plan.contains("Drift Detected - Reverting External Changes (Deployment"), "{plan}");
    assert!(plan.contains("spec.replicas: 5 → 3 (modified by: kubectl-scale)"), "{plan}");
    assert!(plan.contains("ignore_fields = [\"spec.replicas\"]"), "{plan}");

    // An ignored field keeps the value that others gave it, and no longer counts as drift.
    case.object("web", WEB, "ignore_fields = [\"spec.replicas\"]");
    case.workspace.apply(&[]).expect_success();
    assert_eq!(replicas().await, 5);
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();

    // Taken back from a manager that is changing it.
    case.namespace.merge_as("kubectl-scale", &wanted, &json!({"spec": {"replicas": 7}})).await;
    case.object("web", WEB, "");
    let plan = case.workspace.apply(&[]).expect_success().text();
    assert!(plan.contains("Ownership Conflict - Taking Field from Active Controller"), "{plan}");
    assert_eq!(replicas().await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_only_we_hold_is_released_without_losing_its_value() {
    let case = Case::new("release", Client::any()).await;
    let wanted = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
    let ignore = "ignore_fields = [\"spec.replicas\"]";
    case.object("web", WEB, ignore);
    case.workspace.apply(&[]).expect_success();
    case.object("web", &WEB.replace("web:1", "web:2"), ignore);
    case.workspace.apply(&[]).expect_success();
    let live = case.namespace.get(&wanted).await.unwrap();
    assert_eq!(live["spec"]["replicas"], 3, "ignored, and not reset to its default");
    assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], "web:2");
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_item_of_which_another_manager_holds_a_part_stays() {
    let case = Case::new("ignored-item", Client::any()).await;
    let wanted = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
    let body = WEB
        .replace("image: 'web:1'}", "image: 'web:1', env: [{name: A, value: '1'}, {name: B, value: '2'}]}");
    let ignore = "ignore_fields = [\"spec.template.spec.containers[name=web].env\"]";
    case.object("web", &body, ignore);
    case.workspace.apply(&[]).expect_success();
    // kubectl takes the value of A, not the item, and adds C.
    case.namespace.kubectl(&["set", "env", "deployment/web", "A=9", "C=3"]).unwrap();
    case.object("web", &body.replace("web:1", "web:2"), ignore);
    case.workspace.apply(&[]).expect_success();
    let live = case.namespace.get(&wanted).await.unwrap();
    assert_eq!(
        live["spec"]["template"]["spec"]["containers"][0]["env"],
        json!([{"name": "A", "value": "9"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}])
    );
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_secrets_are_never_shown() {
    let case = Case::new("secret", Client::any()).await;
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: NS}\nstringData: {password: hunter2}";
    let wanted = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}});
    // Marking the body as sensitive is up to the user; what the provider derives from it is not.
    let body = secret.replace("NS", case.namespace.name());
    case.workspace.write(
        "secret.tf",
        &format!("resource \"k8sconnect_object\" \"secret\" {{\n  yaml_body = sensitive(<<-YAML\n{body}\nYAML\n)\n}}\n"),
    );
    let shown = case.workspace.apply(&[]).expect_success().text();
    let leaks = |text: &str| text.contains("hunter2") || text.contains("aHVudGVyMg");
    assert!(!leaks(&shown), "{shown}");
    let projection =
        case.workspace.attributes("k8sconnect_object.secret")["managed_state_projection"].clone();
    let mask = projection["data.password"].as_str().unwrap();
    assert!(mask.starts_with("(sensitive hmac:"), "{mask}");
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();

    // A change of the live value is detected, although it was written as stringData.
    case.namespace.merge_as("intruder", &wanted, &json!({"data": {"password": "c2VzYW1l"}})).await;
    let shown = case.workspace.plan(&[]).expect_success().text();
    assert!(shown.contains("data.password: the value differs (modified by: intruder)"), "{shown}");
    assert!(!leaks(&shown) && !shown.contains("c2VzYW1l"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_knows_its_resource_by_its_annotations() {
    let case = Case::new("annotations", Client::any()).await;
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let annotate = async |id: serde_json::Value| {
        let annotations = json!({"metadata": {"annotations": {"k8sconnect.terraform.io/terraform-id": id}}});
        case.namespace.merge_as("other-manager", &wanted, &annotations).await
    };
    case.object("a", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}\ndata: {k: v}", "");
    case.workspace.apply(&[]).expect_success();
    let id = case.workspace.attributes("k8sconnect_object.a")["id"].clone();

    annotate(serde_json::Value::Null).await;
    let restored = case.workspace.apply(&[]).expect_success().text();
    assert!(restored.contains("Resource Annotations Missing - Will Restore"), "{restored}");
    let live = case.namespace.get(&wanted).await.unwrap();
    assert_eq!(live["metadata"]["annotations"]["k8sconnect.terraform.io/terraform-id"], id);
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();

    annotate("ffffffffffff".into()).await;
    let conflict = case.workspace.plan(&[]).expect_failure().text();
    assert!(
        conflict.contains("Resource Ownership Conflict") && conflict.contains("ffffffffffff"),
        "{conflict}"
    );
    // Objects of another owner are left alone.
    case.workspace.run(&["destroy", "-no-color", "-auto-approve", "-refresh=false"]).expect_success();
    assert!(case.namespace.get(&wanted).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn items_that_another_manager_adds_to_keyed_lists_are_no_change_and_need_no_dry_run() {
    let mut case = Case::new("keyed", Client::any()).await;
    let image = "image: 'web:1'";
    let keyed = format!("{image}, env: [{{name: B, value: x}}], ports: [{{containerPort: 80}}]");
    let wanted = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
    case.object("web", &WEB.replace(image, &keyed), "");
    case.workspace.apply(&[]).expect_success();

    // By an apply, and by an update that puts its items before ours.
    let mut more = wanted.clone();
    let container =
        json!({"name": "web", "env": [{"name": "C", "value": "x"}], "ports": [{"containerPort": 81}]});
    more["spec"] = json!({"template": {"spec": {"containers": [container]}}});
    case.namespace.apply_as("other-manager", &more).await;
    let live = case.namespace.get(&wanted).await.unwrap();
    let mut spec = live["spec"]["template"]["spec"].clone();
    let env = spec["containers"][0]["env"].as_array_mut().unwrap();
    env.insert(0, json!({"name": "A", "value": "x"}));
    assert_eq!(env.len(), 3);
    case.namespace.merge_as("kubectl-edit", &wanted, &json!({"spec": {"template": {"spec": spec}}})).await;

    case.requests();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    let asked = case.requests();
    assert!(asked.len() == 1 && asked[0].starts_with("get "), "{asked:#?}");
}
