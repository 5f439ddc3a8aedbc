//! A version of a kind that is no longer served says nothing about the objects of the kind: they are read through another.

use std::sync::{Arc, Mutex};

use composition::protocol::{Match, ResourceSelector};
use functions::{Function, FunctionError, RunRequest, response};
use serde_json::{Value, json};

use crate::fixture::{apply, condition, condition_line, get, group, is_true, legacy_xrd, session, until};
use crate::platform::{Platform, children, desire, map};

/// A kind with two versions, of which the first is served or not.
pub(crate) fn widgets(group: &str, v1_is_served: bool) -> Value {
    let version = |name: &str, served: bool, storage: bool| {
        json!({
            "name": name, "served": served, "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
            "versions": [version("v1", v1_is_served, false), version("v2", true, true)],
        },
    })
}

/// Grants the kind as people grant what they compose.
pub(crate) async fn grant_widgets(group: &str) {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {
            "name": format!("widgets-{group}"),
            "labels": {"rbac.crossplane.io/aggregate-to-crossplane": "true"},
        },
        "rules": [{"apiGroups": [group], "resources": ["widgets"], "verbs": ["*"]}],
    });
    apply(&session(), &role).await;
}

/// Installs the kind, and grants it.
async fn install_widgets(group: &str) {
    let session = session();
    grant_widgets(group).await;
    let installed = apply(&session, &widgets(group, true)).await;
    until(&session, &installed, "it is established", |crd| is_true(crd, "Established")).await;
}

/// Serves the kind in its second version only, and returns when watches of the first have ended.
async fn unserve(group: &str) {
    let session = session();
    let v1 = format!("{group}/v1/Widget").parse().unwrap();
    let mut watch = session.watch(&v1, cluster::Selection::default(), None).await.unwrap();
    let ended = async { while watch.next().await.is_ok() {} };
    let without = widgets(group, false);
    let unserved = apply(&session, &without);
    let ended = tokio::time::timeout(crate::fixture::PATIENCE, futures::future::join(ended, unserved)).await;
    assert!(ended.is_ok(), "the watch goes on");
}

fn widget(group: &str, version: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("{group}/{version}"), "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"},
    })
}

/// Composes a map for each v1 Widget, and remembers the fewest it was ever given.
fn a_map_for_each(group: &str, fewest: &Arc<Mutex<usize>>) -> impl Function + use<> {
    let selector = ResourceSelector {
        api_version: format!("{group}/v1"),
        kind: "Widget".to_owned(),
        matching: Match::Labels(std::collections::BTreeMap::new()),
        namespace: Some("default".to_owned()),
    };
    let fewest = Arc::clone(fewest);
    move |request: RunRequest| {
        let mut rsp = response::to(&request);
        rsp.meta.ttl = Some(std::time::Duration::from_secs(1));
        rsp.requirements.resources.insert("widgets".to_owned(), selector.clone());
        if let Some(given) = request.required_resources.get("widgets") {
            let mut fewest = fewest.lock().unwrap();
            *fewest = given.len().min(*fewest);
            for widget in given {
                let name = widget.object["metadata"]["name"].as_str().unwrap_or_default();
                desire(&mut rsp, name, map(&json!({"for": name})));
            }
        }
        async move { Ok::<_, FunctionError>(rsp) }
    }
}

#[tokio::test]
async fn a_function_gets_all_it_requires_through_a_version_that_is_served() {
    let (session, kind) = (session(), group("unserved"));
    crate::fixture::world();
    install_widgets(&kind).await;
    for name in ["one", "two", "three"] {
        apply(&session, &widget(&kind, "v2", name)).await;
    }
    let fewest = Arc::new(Mutex::new(usize::MAX));
    let platform = Platform::new("unserved", a_map_for_each(&kind, &fewest)).await;
    let xr = platform.object("XApp", "unserved", None, &json!({"compositionRef": {"name": platform.group}}));
    apply(&session, &xr).await;
    let has = |count: usize| {
        move |xr: &Value| xr["spec"]["resourceRefs"].as_array().is_some_and(|refs| refs.len() == count)
    };
    let composed = until(&session, &xr, "it has a map for each widget", has(3)).await;
    let uids =
        |maps: Vec<Value>| maps.into_iter().map(|map| map["metadata"]["uid"].clone()).collect::<Vec<_>>();
    let before =
        uids(children(&until(&session, &composed, "it is ready", |xr| is_true(xr, "Ready")).await).await);
    assert_eq!(before.len(), 3);

    unserve(&kind).await;
    apply(&session, &widget(&kind, "v2", "four")).await;
    let composed = until(&session, &xr, "it has seen the fourth", has(4)).await;
    assert!(is_true(&composed, "Synced"), "{}", manifest::to_yaml(&composed));
    let after = uids(children(&until(&session, &xr, "it is ready", |xr| is_true(xr, "Ready")).await).await);
    assert_eq!(*fewest.lock().unwrap(), 3, "it was called with fewer than there are");
    assert!(before.iter().all(|uid| after.contains(uid)), "{before:?} {after:?}");
}

/// The name of a child that Crossplane composed was generated; it cannot be derived again.
#[tokio::test]
async fn a_child_of_a_version_that_is_not_served_is_not_created_again() {
    let (session, kind) = (session(), group("unserved-child"));
    crate::fixture::world();
    install_widgets(&kind).await;
    let desired = widget(&kind, "v1", "");
    let compose = move |request: RunRequest| {
        let mut rsp = response::to(&request);
        let mut child = desired.clone();
        child["metadata"] = json!({"namespace": "default"});
        child["spec"] = json!({"asked": request.observed.composite.object["spec"]["asked"]});
        desire(&mut rsp, "widget", child);
        async move { Ok::<_, FunctionError>(rsp) }
    };
    let platform = Platform::with("unserved-child", compose, legacy_xrd, &[]).await;
    let name = "unserved-child-x7k2p";
    let refs =
        json!([{"apiVersion": format!("{kind}/v1"), "kind": "Widget", "name": name, "namespace": "default"}]);
    let mut xr =
        platform.object("XApp", "unserved-child", None, &json!({"compositionRef": {"name": "none-yet"}}));
    xr["spec"]["resourceRefs"] = refs.clone();
    let created = apply(&session, &xr).await;
    let mut child = widget(&kind, "v2", name);
    child["metadata"]["annotations"] = json!({"crossplane.io/composition-resource-name": "widget"});
    child["metadata"]["labels"] = json!({"crossplane.io/composite": "unserved-child"});
    child["metadata"]["ownerReferences"] = json!([{
        "apiVersion": created["apiVersion"], "kind": "XApp", "name": "unserved-child",
        "uid": created["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    }]);
    let child = apply(&session, &child).await;
    xr["spec"]["compositionRef"]["name"] = platform.group.clone().into();
    xr["spec"]["asked"] = "first".into();
    apply(&session, &xr).await;
    until(&session, &child, "it is taken over", |child| child["spec"]["asked"] == "first").await;

    unserve(&kind).await;
    xr["spec"]["asked"] = "second".into();
    apply(&session, &xr).await;
    let failed = |xr: &Value| condition_line(xr, "Synced") == "Synced=False ReconcileError";
    let failing = until(&session, &xr, "it says that it cannot be applied", failed).await;
    let message = condition(&failing, "Synced").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("no matches for kind \"Widget\""), "{message}");
    assert_eq!(failing["spec"]["resourceRefs"], refs);

    apply(&session, &widgets(&kind, true)).await;
    until(&session, &child, "it is applied again", |child| child["spec"]["asked"] == "second").await;
    let left = get(&session, &xr).await.unwrap();
    assert_eq!(left["spec"]["resourceRefs"], refs);
    let gvk = format!("{kind}/v2/Widget").parse().unwrap();
    // An XR of another test may call this function, at a port that was another one's before.
    let labels = Some("crossplane.io/composite=unserved-child".to_owned());
    let own = cluster::Selection { labels, ..cluster::Selection::default() };
    let all = session.list(&gvk, &own).await.unwrap().items;
    assert_eq!(all.len(), 1, "{all:#?}");
}
