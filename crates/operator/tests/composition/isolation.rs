//! What a tenant cannot reach through an XR: Secrets of other namespaces, objects the XR does not control, cluster-scoped kinds.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use functions::{FunctionError, RunRequest, RunResponse, response};
use serde_json::{Value, json};

use crate::fixture::{
    apply, condition, condition_line, get, is_true, modern_xrd, session, until, until_recorded,
};
use crate::platform::{Platform, asked, desire};

/// What the function was shown of composed resources, by key: the kind, and the keys of the connection details.
type Seen = Arc<Mutex<Vec<String>>>;

/// A platform whose function composes the XR's `child`, if there is one, and records what it is shown.
async fn platform(test: &str, scope: &str) -> (Platform, Seen) {
    let seen = Seen::default();
    let records = Arc::clone(&seen);
    let run = move |request: RunRequest| {
        let records = Arc::clone(&records);
        async move { Ok::<_, FunctionError>(compose(&request, &records)) }
    };
    (Platform::with(test, run, |group| modern_xrd(group, scope), &[]).await, seen)
}

fn compose(request: &RunRequest, seen: &Seen) -> RunResponse {
    for (key, resource) in &request.observed.resources {
        let details: Vec<&str> = resource.connection_details.keys().map(String::as_str).collect();
        let kind = resource.object["kind"].as_str().unwrap_or_default();
        seen.lock().unwrap().push(format!("{key}: {kind} [{}]", details.join(",")));
    }
    let mut rsp = response::to(request);
    let child = asked(request, "child");
    if child.is_object() {
        desire(&mut rsp, "child", child);
    }
    rsp
}

/// Defines kinds that write connection Secrets, `Bucket` and `ClusterBucket`, and grants them to the operator.
async fn define_buckets(platform: &Platform) {
    let session = session();
    for (kind, plural, scope) in
        [("Bucket", "buckets", "Namespaced"), ("ClusterBucket", "clusterbuckets", "Cluster")]
    {
        let name = format!("{plural}.{}", platform.group);
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
            "spec": {
                "group": platform.group, "scope": scope, "names": {"kind": kind, "plural": plural},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {
                        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    },
                }}}],
            },
        });
        apply(&session, &crd).await;
        until(&session, &crd, "it is established", |crd| is_true(crd, "Established")).await;
    }
    let group = &platform.group;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": group, "labels": {"rbac.crossplane.io/aggregate-to-crossplane": "true"}},
        "rules": [{
            "apiGroups": [group], "resources": ["buckets", "clusterbuckets"],
            "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
        }],
    });
    apply(&session, &role).await;
    let aggregated = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "plimsoll-composed"},
    });
    let is_granted = |role: &Value| {
        let mut rules = role["rules"].as_array().into_iter().flatten();
        rules.any(|rule| rule["apiGroups"].as_array().is_some_and(|groups| groups.contains(&json!(group))))
    };
    until(&session, &aggregated, "its rules are aggregated", is_granted).await;
}

async fn namespace(platform: &Platform, suffix: &str) -> String {
    let name = format!("{}-{suffix}", platform.group.split('.').next().unwrap());
    apply(&session(), &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
    name
}

/// A Secret with one entry, `key`, whose controller is `owner`.
fn secret(namespace: &str, name: &str, key: &str, owner: Option<&Value>) -> Value {
    let value = base64::engine::general_purpose::STANDARD.encode("hidden");
    let mut secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "data": {key: value},
    });
    if let Some(owner) = owner {
        secret["metadata"]["ownerReferences"] = json!([{
            "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"], "controller": true,
        }]);
    }
    secret
}

/// Requests a reconcile of `xr`, and waits until it is handled.
async fn reconcile(xr: &Value, token: &str) -> Value {
    let mut asking = xr.clone();
    asking["metadata"]["annotations"] = json!({"crossplane.io/reconcile-requested-at": token});
    apply(&session(), &asking).await;
    until(&session(), xr, "the request is handled", |xr| {
        xr.pointer("/status/crossplane/lastHandledReconcileAt") == Some(&json!(token))
    })
    .await
}

fn last(seen: &Seen) -> String {
    seen.lock().unwrap().last().cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_namespaced_child_yields_connection_details_of_its_own_namespace_only() {
    let (platform, seen) = platform("own-secret", "Namespaced").await;
    define_buckets(&platform).await;
    let (session, own, other) =
        (session(), namespace(&platform, "own").await, namespace(&platform, "other").await);
    apply(&session, &secret(&other, "keys", "stolen", None)).await;
    let child = json!({
        "apiVersion": format!("{}/v1", platform.group), "kind": "Bucket", "metadata": {"name": "child"},
        "spec": {"writeConnectionSecretToRef": {"namespace": other, "name": "keys"}},
    });
    let spec = json!({"child": child, "crossplane": {"compositionRef": {"name": platform.group}}});
    let xr = platform.object("XApp", "tenant", Some(&own), &spec);
    apply(&session, &xr).await;
    until(&session, &xr, "it is ready", |xr| is_true(xr, "Ready")).await;
    reconcile(&xr, "before").await;
    assert_eq!(last(&seen), "child: Bucket []");

    // A Secret beside the child that the child does not control is not its own either.
    let mut bucket = child;
    bucket["metadata"]["namespace"] = own.clone().into();
    let bucket = get(&session, &bucket).await.unwrap();
    apply(&session, &secret(&own, "keys", "anothers", None)).await;
    let reported = reconcile(&xr, "uncontrolled").await;
    assert_eq!(last(&seen), "child: Bucket []");
    until_recorded(&session, &reported, "is not controlled by").await;

    apply(&session, &secret(&own, "keys", "anothers", Some(&bucket))).await;
    reconcile(&xr, "controlled").await;
    assert_eq!(last(&seen), "child: Bucket [anothers]");
    assert!(seen.lock().unwrap().iter().all(|seen| !seen.contains("stolen")));
}

#[tokio::test]
async fn a_cluster_scoped_child_yields_only_details_that_it_published_itself() {
    let (platform, seen) = platform("published", "Cluster").await;
    define_buckets(&platform).await;
    let (session, other) = (session(), namespace(&platform, "other").await);
    apply(&session, &secret(&other, "keys", "stolen", None)).await;
    let name = platform.group.split('.').next().unwrap();
    let child = |secret: &str| {
        json!({
            "apiVersion": format!("{}/v1", platform.group), "kind": "ClusterBucket", "metadata": {"name": name},
            "spec": {"writeConnectionSecretToRef": {"namespace": other, "name": secret}},
        })
    };
    let xr = |secret: &str| {
        let spec =
            json!({"child": child(secret), "crossplane": {"compositionRef": {"name": platform.group}}});
        platform.object("XApp", name, None, &spec)
    };
    apply(&session, &xr("keys")).await;
    until(&session, &xr(""), "it is ready", |xr| is_true(xr, "Ready")).await;
    reconcile(&xr("keys"), "foreign").await;
    assert_eq!(last(&seen), "child: ClusterBucket []");

    let bucket = get(&session, &child("")).await.unwrap();
    apply(&session, &secret(&other, "own", "published", Some(&bucket))).await;
    apply(&session, &xr("own")).await;
    until(&session, &bucket, "it names its own Secret", |bucket| {
        bucket["spec"]["writeConnectionSecretToRef"]["name"] == "own"
    })
    .await;
    reconcile(&xr("own"), "own").await;
    assert_eq!(last(&seen), "child: ClusterBucket [published]");
    assert!(seen.lock().unwrap().iter().all(|seen| !seen.contains("stolen")));
}

#[tokio::test]
async fn a_reference_to_an_object_that_the_xr_does_not_control_shows_nothing_of_it() {
    let (platform, seen) = platform("bait", "Namespaced").await;
    define_buckets(&platform).await;
    let (session, own, other) =
        (session(), namespace(&platform, "own").await, namespace(&platform, "other").await);
    apply(&session, &secret(&other, "keys", "stolen", None)).await;
    let name = platform.group.split('.').next().unwrap();
    let api_version = format!("{}/v1", platform.group);
    let named = json!({"crossplane.io/composition-resource-name": "bait"});
    let reference = json!({"writeConnectionSecretToRef": {"namespace": other, "name": "keys"}});
    // One without a namespace, labelled as the tenant's XR can be too, and one in the tenant's namespace
    // without a label.
    let anywhere = json!({
        "apiVersion": api_version, "kind": "ClusterBucket",
        "metadata": {"name": name, "annotations": named, "labels": {"crossplane.io/composite": "tenant"}},
        "spec": reference,
    });
    let nearby = json!({
        "apiVersion": api_version, "kind": "Bucket",
        "metadata": {"name": name, "namespace": own, "annotations": named}, "spec": reference,
    });
    for bait in [&anywhere, &nearby] {
        apply(&session, bait).await;
        seen.lock().unwrap().clear();
        let refs = json!([{"apiVersion": api_version, "kind": bait["kind"], "name": name}]);
        let spec = json!({"crossplane": {"compositionRef": {"name": platform.group}, "resourceRefs": refs}});
        let xr = platform.object("XApp", "tenant", Some(&own), &spec);
        apply(&session, &xr).await;
        let token = bait["kind"].as_str().unwrap();
        reconcile(&xr, token).await;
        assert_eq!(*seen.lock().unwrap(), Vec::<String>::new(), "{token}");
        let after = get(&session, bait).await.unwrap();
        assert_eq!(after["metadata"].get("ownerReferences"), None, "{token}");
    }
}

#[tokio::test]
async fn a_namespaced_xr_composes_nothing_cluster_scoped_whatever_namespace_the_function_sets() {
    let (platform, _) = platform("bogus", "Namespaced").await;
    define_buckets(&platform).await;
    let (session, own) = (session(), namespace(&platform, "own").await);
    let name = platform.group.split('.').next().unwrap();
    for namespace in [None, Some(own.as_str()), Some("elsewhere")] {
        let child = json!({
            "apiVersion": format!("{}/v1", platform.group), "kind": "ClusterBucket",
            "metadata": {"name": name, "namespace": namespace}, "spec": {},
        });
        let spec = json!({"child": child, "crossplane": {"compositionRef": {"name": platform.group}}});
        let xr = platform.object("XApp", namespace.unwrap_or("none"), Some(&own), &spec);
        apply(&session, &xr).await;
        let failed = |xr: &Value| condition_line(xr, "Synced") == "Synced=False ReconcileError";
        let xr = until(&session, &xr, "it failed", failed).await;
        let message = condition(&xr, "Synced").unwrap()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("cannot apply cluster scoped composed resource \"child\""), "{message}");
        let bucket = platform.object("ClusterBucket", name, None, &Value::Null);
        assert_eq!(get(&session, &bucket).await, None, "{namespace:?}");
    }
}
