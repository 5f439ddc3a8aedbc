//! A CRD and its objects, a namespace and its content, in one apply and without explicit order.

use testkit::Sandbox;
use testkit::terraform::Client;

use crate::case::{Case, crd};

const APPLY: [&str; 4] = ["apply", "-no-color", "-input=false", "-auto-approve"];

fn custom(kind: &str, spec: &str) -> String {
    format!(
        "apiVersion: NS.example.com/v1\nkind: {kind}\nmetadata: {{name: a, namespace: NS-more}}\nspec: {spec}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_and_namespaces_may_come_with_the_apply_that_needs_them() {
    let case = Case::new("deps", Client::any()).await;
    case.object("widget", &custom("Widget", "{size: 1, tags: [b, a]}"), "");
    case.object("widgets", &crd("widgets", "Widget"), "");
    case.object("more", "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS-more}", "");
    case.workspace.apply(&[]).expect_success();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    let attributes = case.workspace.attributes("k8sconnect_object.widget");
    assert_eq!(attributes["object_ref"]["namespace"], format!("{}-more", case.namespace.name()));
    assert_eq!(attributes["managed_state_projection"]["spec.size"], "1");

    // A second kind in an existing group, and a change in nothing but a set.
    case.object("gadget", &custom("Gadget", "{size: 2}"), "");
    case.object("gadgets", &crd("gadgets", "Gadget"), "");
    case.object("widget", &custom("Widget", "{size: 1, tags: [b, c]}"), "");
    case.workspace.apply(&[]).expect_success();
    // The refresh of this plan reads the live object.
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    let attributes = case.workspace.attributes("k8sconnect_object.widget");
    assert_eq!(attributes["managed_state_projection"]["spec.tags[1]"], "c");
    case.workspace.destroy().expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_outlives_the_version_it_was_written_with() {
    let case = Case::new("unserved", Client::any()).await;
    let served = |served: bool| {
        let crd = crd("widgets", "Widget");
        let (head, version) = crd.split_once("  - name: v1\n").expect("one version");
        let old = version.replace("storage: true", "storage: false");
        let old = old.replacen("served: true", &format!("served: {served}"), 1);
        format!("{head}  - name: v1\n{version}\n  - name: v1beta1\n{old}")
    };
    case.object("widgets", &served(true), "");
    let widget = custom("Widget", "{size: 1}").replace("NS-more", "NS").replace("/v1\n", "/v1beta1\n");
    case.object("widget", &widget, "");
    case.workspace.apply(&[]).expect_success();
    case.object("widgets", &served(false), "");
    case.workspace.apply(&["-target=k8sconnect_object.widgets"]).expect_success();

    let refreshed = case.workspace.apply(&["-refresh-only"]).expect_success().text();
    assert!(refreshed.contains("Version Not Served") && refreshed.contains("apiVersion: "), "{refreshed}");
    assert_eq!(case.workspace.attributes("k8sconnect_object.widget")["object_ref"]["kind"], "Widget");
    case.workspace.run(&["destroy", "-auto-approve", "-target=k8sconnect_object.widget"]).expect_success();
    let namespace = case.namespace.name();
    let kind = format!("widgets.v1.{namespace}.example.com");
    let left = Sandbox::shared().kubectl(&["get", &kind, "--namespace", namespace, "--output=name"]);
    assert!(left.status.success() && left.stdout.is_empty(), "{left:?}");
    case.workspace.destroy().expect_success();
}

/// As with the Gateway API, whose group is named like a built-in one.
#[tokio::test(flavor = "multi_thread")]
async fn kinds_of_projects_of_kubernetes_come_with_the_apply_that_needs_them() {
    let case = Case::new("gateway", Client::any()).await;
    let renamed = |text: &str| text.replace("NS.example.com", "NS.networking.k8s.io");
    let crd = renamed(&crd("gateways", "Gateway"));
    let approved = "annotations: {api-approved.kubernetes.io: 'unapproved, for a test'}, name: gateways";
    case.object("gateways", &crd.replace("name: gateways", approved), "");
    case.object("gateway", &renamed(&custom("Gateway", "{size: 1}")).replace("NS-more", "NS"), "");
    case.workspace.apply(&[]).expect_success();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    case.workspace.destroy().expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_field_is_an_error_before_it_is_lost() {
    let mut case = Case::new("strict", Client::any()).await;
    let widget = |spec: &str| custom("Widget", spec).replace("NS-more", "NS");
    case.object("widgets", &crd("widgets", "Widget"), "");
    case.object("widget", &widget("{size: 1}"), "");
    case.workspace.apply(&[]).expect_success();
    let asked = case.requests();
    let writes: Vec<_> = asked.iter().filter(|request| request.starts_with("patch ")).collect();
    assert!(!writes.is_empty(), "{asked:#?}");
    assert!(writes.iter().all(|write| write.contains("fieldValidation=Strict")), "{writes:#?}");

    // The API server itself would drop the field and only warn.
    case.object("widget", &widget("{size: 1, sizze: 1}"), "");
    let refused = case.workspace.plan(&[]).expect_failure().text();
    assert!(refused.contains("Plan: Field Validation Failed") && refused.contains("sizze"), "{refused}");
    // An object of a kind from the same apply is rejected once the kind exists.
    case.object("gadgets", &crd("gadgets", "Gadget"), "");
    case.object("widget", &widget("{size: 1}"), "");
    case.object("gadget", &widget("{sizze: 1}").replace("Widget", "Gadget"), "");
    let refused = case.workspace.apply(&[]).expect_failure().text();
    assert!(refused.contains("Field Validation Failed") && refused.contains("sizze"), "{refused}");
    case.workspace.write("gadget.tf", "");
    case.workspace.destroy().expect_success();
}

/// Takes the half minute that the provider waits for a kind or a namespace.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_kind_or_namespace_is_named_after_half_a_minute() {
    let case = Case::new("never", Client::any()).await;
    case.object(
        "a",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS-never}\ndata: {k: v}",
        "",
    );
    case.object("widget", &custom("Widget", "{size: 1}").replace("NS-more", "NS"), "");
    let plan = case.workspace.plan(&[]).expect_success().text();
    assert!(plan.contains("Plan: 2 to add"), "{plan}");
    let output = case.workspace.apply(&[]).expect_failure().output();
    let expressions = [
        "(?i)(namespace.*(not found|does not exist|doesn't exist))",
        "Create: Custom Resource Definition Not Found",
        r"CRD for Widget/a not found after \d+s",
    ];
    for expression in expressions {
        assert!(regex::Regex::new(expression).unwrap().is_match(&output), "{expression}: {output}");
    }
}

/// As with cert-manager: the CRDs, the configuration of a webhook, and objects that it reviews before it runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_may_come_up_after_the_objects_that_it_reviews() {
    let case = Case::new("webhook", Client::any()).await;
    let webhook = testkit::Webhook::start().await;
    let group = format!("{}.example.com", case.namespace.name());
    let admission = webhook.admission(case.namespace.name(), (&group, "widgets"), case.namespace.name());
    case.object("widgets", &crd("widgets", "Widget"), "");
    case.object("admission", &admission.to_string(), "");
    case.workspace.apply(&[]).expect_success();
    let widget = |spec: &str| custom("Widget", spec).replace("NS-more", "NS");
    case.object("widget", &widget("{size: 1}"), "");
    // A plan cannot show what the webhook would say.
    let plan = case.workspace.plan(&[]).expect_success().text();
    assert!(plan.contains("No Preview Possible") && plan.contains("failed calling webhook"), "{plan}");
    let applying = case.workspace.start(&APPLY);
    webhook.until_refused().await;
    webhook.set_up(true);
    applying.wait().expect_success();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();

    // A change and a deletion wait as well.
    webhook.set_up(false);
    case.object("widget", &widget("{size: 2}"), "");
    let applying = case.workspace.start(&APPLY);
    webhook.until_refused().await;
    // The plan of the apply is one call, and the apply itself another.
    webhook.until_refused().await;
    webhook.set_up(true);
    applying.wait().expect_success();
    webhook.set_up(false);
    case.workspace.write("widget.tf", "");
    let applying = case.workspace.start(&APPLY);
    webhook.until_refused().await;
    webhook.set_up(true);
    applying.wait().expect_success();
    case.workspace.destroy().expect_success();
}
