//! Composed resources are applied, kept as desired, reported when rejected, and deleted when no longer desired.

use functions::{FunctionError, RunRequest, RunResponse, response};
use sandbox::audit;
use serde_json::{Value, json};
use testkit::Sandbox;

use crate::fixture::{apply, condition, condition_line, delete, get, is_true, session, until, until_gone};
use crate::platform::{Platform, asked, asked_text, children, desire, map};

/// One ConfigMap for each entry of the XR's `maps`.
async fn maps(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    for (key, data) in asked(&request, "maps").as_object().cloned().unwrap_or_default() {
        let kind = data.get("kind").and_then(Value::as_str).unwrap_or("ConfigMap").to_owned();
        if kind == "Secret" {
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default"}});
            desire(&mut rsp, &key, secret);
        } else {
            desire(&mut rsp, &key, map(&data));
        }
    }
    Ok(rsp)
}

fn ready(object: &Value) -> bool {
    is_true(object, "Ready")
}

#[tokio::test]
async fn a_claim_is_not_ready_while_a_composed_resource_is_rejected() {
    let platform = Platform::new("refused", maps).await;
    let session = session();
    let claim = platform
        .claim("refused", json!({"maps": {"a": {}, "b": {}, "c": {}, "refused": {"not a key": "x"}}}));
    apply(&session, &claim).await;
    let unhealthy = |claim: &Value| condition_line(claim, "Healthy") == "Healthy=False InternalError";
    let shown = until(&session, &claim, "it says that something is wrong", unhealthy).await;
    let message = |object: &Value, kind: &str| {
        condition(object, kind).unwrap()["message"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(condition_line(&shown, "Ready"), "Ready=False Waiting");
    assert_eq!(message(&shown, "Ready"), "Claim is waiting for composite resource to become Ready: refused");
    let xr = platform.xr(&claim, "it is in step", |xr| condition(xr, "Synced").is_some()).await;
    assert_eq!(condition_line(&xr, "Synced"), "Synced=False ReconcileError");
    assert_eq!(message(&xr, "Synced"), "Unsynced resources: refused");
    assert_eq!(message(&xr, "Ready"), "Unready resources: refused");
    assert_eq!(condition_line(&xr, "Healthy"), "Healthy=False ChildRefused");
    assert!(message(&xr, "Healthy").contains("refused: the API server refuses data[not a key]"), "{xr}");
    assert_eq!(children(&xr).await.len(), 3, "the others are there");

    apply(&session, &platform.claim("refused", json!({"maps": {"a": {}, "b": {}, "c": {}, "refused": {}}})))
        .await;
    until(&session, &claim, "it heals", |claim| ready(claim) && is_true(claim, "Healthy")).await;
}

#[tokio::test]
async fn undesired_resources_are_deleted_and_a_changed_kind_is_replaced() {
    let platform = Platform::new("garbage", maps).await;
    let session = session();
    let claim = platform.claim("garbage", json!({"maps": {"keep": {}, "drop": {}}}));
    apply(&session, &claim).await;
    until(&session, &claim, "it is ready", ready).await;
    let xr = platform.xr(&claim, "it is ready", ready).await;
    let before = children(&xr).await;
    let named = |key: &str| {
        let is = |child: &&Value| {
            child.pointer("/metadata/annotations/crossplane.io~1composition-resource-name")
                == Some(&json!(key))
        };
        before.iter().find(is).unwrap().clone()
    };
    let (keep, drop) = (named("keep"), named("drop"));
    assert_eq!(keep["metadata"]["labels"]["crossplane.io/composite"], xr["metadata"]["name"]);
    assert_eq!(keep["metadata"]["labels"]["crossplane.io/claim-name"], "garbage");
    assert_eq!(keep["metadata"]["ownerReferences"][0]["uid"], xr["metadata"]["uid"]);

    apply(&session, &platform.claim("garbage", json!({"maps": {"keep": {}}}))).await;
    until_gone(&session, &drop).await;
    let refs = |xr: &Value| xr["spec"]["resourceRefs"].as_array().map_or(0, Vec::len);
    platform.xr(&claim, "it has forgotten the other", |xr| refs(xr) == 1).await;
    assert_eq!(get(&session, &keep).await.unwrap()["metadata"]["uid"], keep["metadata"]["uid"]);
}

#[tokio::test]
async fn drift_is_reverted_and_a_deleted_composed_resource_comes_back() {
    let platform = Platform::new("drift", maps).await;
    let session = session();
    let claim = platform.claim("drift", json!({"maps": {"one": {"color": "blue"}}}));
    apply(&session, &claim).await;
    let xr = platform.xr(&claim, "it is ready", ready).await;
    let child = children(&xr).await.remove(0);
    let mut red = child.clone();
    red["metadata"] = json!({"name": child["metadata"]["name"], "namespace": "default"});
    red["data"] = json!({"color": "red", "mine": "stays"});
    apply(&session, &red).await;
    let reverted = until(&session, &child, "it is blue again", |map| map["data"]["color"] == "blue").await;
    assert_eq!(reverted["data"]["mine"], "stays", "fields of others are theirs");

    delete(&session, &child).await;
    let old = child["metadata"]["uid"].clone();
    let back = until(&session, &child, "it is back", |map| map["metadata"]["uid"] != old).await;
    assert_eq!(back["data"]["color"], "blue");
}

/// A function that says its answers hold for a second only is called again and again, and nothing is written.
#[tokio::test]
async fn a_reconcile_that_changes_nothing_writes_nothing() {
    let (calls, mut called) = tokio::sync::watch::channel(0_u32);
    let counting = move |request: RunRequest| {
        calls.send_modify(|calls| *calls += 1);
        async move {
            let mut rsp = maps(request).await?;
            rsp.meta.ttl = Some(std::time::Duration::from_secs(1));
            response::condition_true(&mut rsp, "DatabaseReady", "Available").target_composite_and_claim();
            response::normal(&mut rsp, "all is well").target_composite_and_claim();
            Ok(rsp)
        }
    };
    let platform = Platform::new("steady", counting).await;
    let session = session();
    let claim = platform.claim("steady", json!({"maps": {"a": {"n": "1"}, "b": {"n": "2"}}}));
    apply(&session, &claim).await;
    until(&session, &claim, "it is ready", ready).await;
    let xr = platform.xr(&claim, "it is ready", ready).await;
    // The pass after the first sees what that one made; then all is settled.
    called.wait_for(|calls| *calls >= 3).await.unwrap();
    let versions = async || {
        let mut objects = vec![get(&session, &claim).await.unwrap(), get(&session, &xr).await.unwrap()];
        objects.extend(children(&objects[1]).await);
        let version = |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
        objects.iter().map(version).collect::<Vec<_>>()
    };
    let before = versions().await;
    let mut names = vec![format!("/apis/{}/", platform.group)];
    names.extend(
        children(&xr).await.iter().map(|child| child["metadata"]["name"].as_str().unwrap().to_owned()),
    );
    let writes = writes_to(&names);
    // A claim, its XR, its references and two children: counted before the goals were set.
    assert!((8..=12).contains(&writes.len()), "{writes:#?}");
    let seen = *called.borrow_and_update();
    called.wait_for(|calls| *calls >= seen + 3).await.unwrap();
    assert_eq!(versions().await, before);
    assert_eq!(writes_to(&names), writes, "requests that change nothing are requests too");
}

/// The operator's mutating requests so far whose path names one of `names`, as the API server has them on record.
fn writes_to(names: &[String]) -> Vec<String> {
    let requests = audit::Reader::new(Sandbox::shared().layout().audit_log()).read_new().unwrap();
    let is_write = |request: &&audit::Request| {
        ["create", "update", "patch", "delete"].contains(&request.verb.as_str())
            && request.user_agent.starts_with("plimsoll-operator")
            && names.iter().any(|name| request.uri.contains(name))
    };
    requests.iter().filter(is_write).map(|request| format!("{} {}", request.verb, request.uri)).collect()
}

/// A child may take its name from the function; what is named badly stops the pass and says so.
#[tokio::test]
async fn an_invalid_name_is_reported_and_nothing_is_applied() {
    let named = |request: RunRequest| async move {
        let mut rsp = response::to(&request);
        let mut object = map(&json!({}));
        object["metadata"]["name"] = asked_text(&request, "name").into();
        desire(&mut rsp, "named", object);
        Ok(rsp)
    };
    let platform = Platform::new("named", named).await;
    let session = session();
    let claim = platform.claim("named", json!({"name": "Not_A_Name"}));
    apply(&session, &claim).await;
    let failed = |xr: &Value| condition_line(xr, "Synced") == "Synced=False ReconcileError";
    let xr = platform.xr(&claim, "it failed", failed).await;
    let message = condition(&xr, "Synced").unwrap()["message"].as_str().unwrap().to_owned();
    insta::assert_snapshot!(message, @r#"cannot compose resources: cannot apply composed resource "named" because it has an invalid name "Not_A_Name". Must be a valid RFC 1123 subdomain name."#);
    let good = format!("{}-good", platform.function);
    apply(&session, &platform.claim("named", json!({"name": good}))).await;
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": good, "namespace": "default"}});
    until(&session, &map, "it is composed", |_| true).await;
    delete(&session, &claim).await;
    until_gone(&session, &claim).await;
}
