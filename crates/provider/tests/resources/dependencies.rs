//! Patches and waits whose kind or namespace is created by the same apply.

use serde_json::json;
use testkit::terraform::Client;

use crate::case::{Case, crd};

/// Writes a resource about the object `name` of a kind that the test's own group has or lacks.
pub(crate) fn custom(case: &Case, resource: &str, name: &str, attributes: &str) {
    let group = format!("{}.example.com", case.namespace.name());
    about(case, resource, (&format!("{group}/v1"), "Widget", name), case.namespace.name(), attributes);
}

/// Writes a resource about the object with this API version, kind and name.
fn about(
    case: &Case,
    resource: &str,
    (api_version, kind, name): (&str, &str, &str),
    namespace: &str,
    attributes: &str,
) {
    let reference = if resource == "k8sconnect_wait" { "object_ref" } else { "target" };
    let text = format!(
        "resource {resource:?} {name:?} {{\n  {reference} = {{ api_version = {api_version:?}, kind = {kind:?}, name = {name:?}, \
         namespace = {namespace:?} }}\n  {attributes}\n}}\n"
    );
    case.workspace.write(&format!("{resource}-{name}.tf"), &text);
}

#[tokio::test(flavor = "multi_thread")]
async fn patches_and_waits_may_come_with_the_kind_they_need() {
    for client in Client::all() {
        let case = Case::new("kinds", client).await;
        let widget = json!({
            "apiVersion": format!("{}.example.com/v1", case.namespace.name()), "kind": "Widget",
            "metadata": {"name": "patched"}, "spec": {"size": 1},
        });
        case.object("widgets", &crd("widgets", "Widget"), "");
        let waited = "apiVersion: NS.example.com/v1\nkind: Widget\nmetadata: {name: waited, namespace: NS}\nspec: {size: 1}";
        case.object("waited", waited, "");
        custom(&case, "k8sconnect_wait", "waited", "wait_for = { field = \"spec.size\" }");
        custom(&case, "k8sconnect_patch", "patched", "patch = \"spec: {size: 2}\"");
        let plan = case.workspace.plan(&[]).expect_success().text();
        assert!(plan.contains("Plan: 4 to add"), "{plan}");

        // Another program creates the target once its kind is served.
        let applying = case.workspace.start(&["apply", "-no-color", "-input=false", "-auto-approve"]);
        case.workspace.write("widget.json", &widget.to_string());
        let file = case.workspace.path("widget.json").display().to_string();
        let create = ["create", "--namespace", case.namespace.name(), "-f", &file];
        assert!((0..300).any(|_| case.namespace.kubectl(&create).is_ok()), "the kind is never served");
        applying.wait().expect_success();
        assert_eq!(case.namespace.get(&widget).await.unwrap()["spec"]["size"], 2);
        let result = case.workspace.attributes("k8sconnect_wait.waited")["result"].clone();
        assert_eq!(result, json!({"spec": {"size": 1}}));
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        case.workspace.write("k8sconnect_patch-patched.tf", "");
        case.workspace.apply(&[]).expect_success();
        case.workspace.destroy().expect_success();
    }
}

/// Controllers create the ServiceAccount `default` of a new namespace.
#[tokio::test(flavor = "multi_thread")]
async fn a_patch_may_come_with_the_namespace_of_its_target() {
    let case = Case::new("spaces", Client::any()).await;
    let space = format!("{}-more", case.namespace.name());
    case.object("more", "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS-more}", "");
    let patch = "patch = \"automountServiceAccountToken: false\"";
    about(&case, "k8sconnect_patch", ("v1", "ServiceAccount", "default"), &space, patch);
    case.workspace.apply(&[]).expect_success();
    let read = ["get", "serviceaccount", "default", "-o", "jsonpath={.automountServiceAccountToken}"];
    let live = testkit::Sandbox::shared().kubectl(&[&["--namespace", &space][..], &read[..]].concat());
    assert_eq!(String::from_utf8_lossy(&live.stdout), "false");
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    case.workspace.destroy().expect_success();
}

/// Takes the half minute that a patch waits for a kind.
#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_never_comes_is_named_after_the_timeout() {
    let case = Case::new("never", Client::any()).await;
    custom(&case, "k8sconnect_wait", "a", "wait_for = { field = \"status.phase\", timeout = \"1s\" }");
    custom(&case, "k8sconnect_patch", "a", "patch = \"spec: {size: 2}\"");
    case.workspace.plan(&[]).expect_success();
    let output = case.workspace.apply(&[]).expect_failure().text();
    for part in [
        "Failed to Discover GVR",
        "The kind was not installed within 1s.",
        "Target Resource Not Found",
        "CRD for Widget not found after 30s",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
}

/// A wait for such a kind would take ten minutes.
#[tokio::test(flavor = "multi_thread")]
async fn a_misspelt_kind_of_kubernetes_fails_at_once() {
    let case = Case::new("misspelt", Client::any()).await;
    let role = ("rbac.authorization.k8s.io/v1", "ClusterRol", "view");
    about(&case, "k8sconnect_wait", role, case.namespace.name(), "wait_for = { field = \"rules\" }");
    let waited = case.workspace.apply(&[]).expect_failure().text();
    assert!(waited.contains("Failed to Discover GVR") && waited.contains("ClusterRole?"), "{waited}");
    case.workspace.write("k8sconnect_wait-view.tf", "");
    about(&case, "k8sconnect_patch", role, case.namespace.name(), "patch = \"rules: []\"");
    let planned = case.workspace.plan(&[]).expect_failure().text();
    assert!(planned.contains("Get Target Resource") && planned.contains("ClusterRole?"), "{planned}");
}
