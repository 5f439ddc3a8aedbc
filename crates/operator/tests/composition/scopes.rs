//! XRs of the modern scopes: in a namespace, composing there only, or in none, composing anywhere.

use functions::{FunctionError, RunRequest, RunResponse, response};
use serde_json::{Value, json};

use crate::fixture::{
    apply, condition, condition_line, delete, events, is_true, modern_xrd, session, until, until_gone,
};
use crate::platform::{Platform, asked_text, children, desire, map};

/// Composes what the XR's `child` says.
async fn compose_one(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    let child = match asked_text(&request, "child").as_str() {
        "namespace" => json!({"apiVersion": "v1", "kind": "Namespace"}),
        "forbidden" => json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}}),
        "elsewhere" => map(&json!({})),
        _ => json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"a": "b"}}}),
    };
    desire(&mut rsp, "child", child);
    let status = json!({"status": {"coolerField": "I'm cooler!"}});
    rsp.desired.composite = composition::protocol::Resource::of(status);
    response::condition_true(&mut rsp, "AppReady", "Available").target_composite_and_claim();
    Ok(rsp)
}

/// A namespace of a test's own.
async fn namespace(platform: &Platform) -> String {
    let name = platform.group.split('.').next().unwrap().to_owned();
    apply(&session(), &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
    name
}

fn spec(platform: &Platform, child: &str) -> Value {
    json!({"child": child, "crossplane": {"compositionRef": {"name": platform.group}}})
}

/// Crossplane's TestBasicCompositionNamespaced, and what else holds of a namespace.
#[tokio::test]
async fn a_namespaced_xr_composes_in_its_own_namespace() {
    let platform = Platform::with("inside", compose_one, |group| modern_xrd(group, "Namespaced"), &[]).await;
    let (session, own) = (session(), namespace(&platform).await);
    let xr = |name: &str, child: &str| platform.object("XApp", name, Some(&own), &spec(&platform, child));
    apply(&session, &xr("here", "map")).await;
    let here = until(&session, &xr("here", ""), "it is ready", |xr| is_true(xr, "Ready")).await;
    assert!(is_true(&here, "Synced"));
    assert_eq!(here["status"]["coolerField"], "I'm cooler!");
    let refs = &here["spec"]["crossplane"]["resourceRefs"];
    assert_eq!(refs[0].get("namespace"), None);
    let child = children(&here).await.remove(0);
    assert_eq!(child["metadata"]["namespace"], json!(own));
    assert_eq!(here["status"].get("claimConditionTypes"), None);
    let reported = events(&session, &here, 2).await;
    assert!(
        reported.iter().any(|event| event.starts_with("Warning InvalidFunctionOutput: ")),
        "{reported:?}"
    );

    apply(&session, &xr("there", "elsewhere")).await;
    let there = until(&session, &xr("there", ""), "it is ready", |xr| is_true(xr, "Ready")).await;
    assert_eq!(children(&there).await[0]["metadata"]["namespace"], json!(own));
    let reported = events(&session, &there, 3).await;
    assert!(reported.iter().any(|event| event.starts_with("Warning NamespaceOverridden: ")), "{reported:?}");

    // Crossplane's TestNamespacedXRClusterComposition.
    apply(&session, &xr("nowhere", "namespace")).await;
    let failed = |xr: &Value| condition_line(xr, "Synced") == "Synced=False ReconcileError";
    let nowhere = until(&session, &xr("nowhere", ""), "it failed", failed).await;
    let message = condition(&nowhere, "Synced").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("cannot apply cluster scoped composed resource \"child\""), "{message}");

    // What it is composed of goes after it, when the garbage collector has learned of its kind.
    delete(&session, &here).await;
    until_gone(&session, &here).await;
}

/// Crossplane's TestLackOfRightsNamespaced.
#[tokio::test]
async fn a_missing_right_on_a_composed_kind_is_reported() {
    let platform = Platform::with("rights", compose_one, |group| modern_xrd(group, "Namespaced"), &[]).await;
    let (session, own) = (session(), namespace(&platform).await);
    let xr = platform.object("XApp", "rights", Some(&own), &spec(&platform, "forbidden"));
    apply(&session, &xr).await;
    let failed = |xr: &Value| condition_line(xr, "Synced") == "Synced=False ReconcileError";
    let mut asking = xr.clone();
    let xr = until(&session, &xr, "it failed", failed).await;
    let message = condition(&xr, "Synced").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(
        message.starts_with("cannot compose resources: cannot apply composed resource \"child\": "),
        "{message}"
    );
    assert!(message.contains("is forbidden: User"), "{message}");
    assert_eq!(condition_line(&xr, "Ready"), "Ready=False Creating");
    // Also when there is a reference to it, and nothing that is referred to, it is named once.
    asking["metadata"]["annotations"] = json!({"crossplane.io/reconcile-requested-at": "now"});
    apply(&session, &asking).await;
    let handled = |xr: &Value| xr.pointer("/status/crossplane/lastHandledReconcileAt") == Some(&json!("now"));
    let xr = until(&session, &xr, "the request is handled", handled).await;
    assert_eq!(condition(&xr, "Ready").unwrap()["message"], "Unready resources: child");
}

/// Crossplane's TestBasicCompositionCluster.
#[tokio::test]
async fn an_xr_without_a_namespace_composes_anywhere() {
    let platform = Platform::with("outside", compose_one, |group| modern_xrd(group, "Cluster"), &[]).await;
    let session = session();
    let name = format!("outside-{}", platform.group.split('.').next().unwrap());
    let xr = platform.object("XApp", &name, None, &spec(&platform, "elsewhere"));
    apply(&session, &xr).await;
    let xr = until(&session, &xr, "it is ready", |xr| is_true(xr, "Ready")).await;
    let refs = &xr["spec"]["crossplane"]["resourceRefs"];
    assert_eq!(refs[0]["namespace"], "default");
    let child = children(&xr).await.remove(0);
    assert!(child["metadata"]["name"].as_str().unwrap().starts_with(&format!("{name}-")));
}
