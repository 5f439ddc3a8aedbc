use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::join_all;
use serde_json::{Value, json};

use crate::error::{Class, ErrorKind};
use crate::test_server::{Answer, core, kinds, ok, raw_session, reply, status};
use crate::{Resource, Session};
use manifest::GroupVersionKind;

fn gvk(text: &str) -> GroupVersionKind {
    text.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_invalid_discovery_response_proves_no_kind_missing() {
    async fn check(api: &Value, apis: &Value, expected: &str) {
        let (core, named) = (api.clone(), apis.clone());
        let (session, _) = raw_session(move |seen| ok(if seen.path == "/api" { &core } else { &named }));
        let error = session.resource(&gvk("example.com/v1/Widget")).await.unwrap_err();
        assert!(!matches!(error.kind(), ErrorKind::KindMissing(_)), "{api} {apis}: {error:?}");
        let diagnostic = error.diagnostic("Plan");
        assert!(diagnostic.detail.contains(expected), "{}", diagnostic.detail);
    }
    let none = kinds(&[]);
    let not_a_list = "instead of a list of API groups";
    check(&json!({}), &json!({}), not_a_list).await;
    check(&core(), &json!({ "status": "ok" }), not_a_list).await;
    check(&core(), &json!({ "kind": "Status", "status": "Success" }), not_a_list).await;
    check(&core(), &json!({ "kind": "ConfigMapList", "items": [] }), not_a_list).await;
    check(&json!([1]), &none, not_a_list).await;
    check(&none, &none, "lacks the core group").await;
    check(&core(), &json!({ "kind": "APIGroupDiscoveryList" }), "malformed").await;
    check(&json!({ "kind": "APIVersions" }), &none, "malformed").await;
    // Both lists exist, but what they point to does not.
    check(&json!({ "kind": "APIVersions", "versions": ["v1"] }), &none, "is not an APIResourceList").await;
}

/// A server that does not aggregate: `apps/v1`, and `metrics.k8s.io/v1`, whose own server answers with `metrics`.
fn old_server(metrics: fn() -> Answer) -> Session {
    let resource = |name: &str, kind: &str, namespaced: bool| json!({ "name": name, "kind": kind, "namespaced": namespaced, "singularName": "", "verbs": ["get"] });
    let list = |resources: &[Value]| ok(&json!({ "kind": "APIResourceList", "resources": resources }));
    let group = |name: &str| json!({ "name": name, "versions": [{ "groupVersion": format!("{name}/v1"), "version": "v1" }] });
    let (session, _) = raw_session(move |seen| match seen.path.as_str() {
        "/api" => ok(&json!({ "kind": "APIVersions", "versions": ["v1"] })),
        "/apis" => ok(&json!({ "kind": "APIGroupList", "groups": [group("apps"), group("metrics.k8s.io")] })),
        "/api/v1" => list(&[
            resource("pods", "Pod", true),
            resource("pods/log", "Pod", true),
            resource("nodes", "Node", false),
        ]),
        "/apis/apps/v1" => {
            list(&[resource("deployments/scale", "Scale", true), resource("deployments", "Deployment", true)])
        }
        "/apis/metrics.k8s.io/v1" => metrics(),
        path => panic!("{path}"),
    });
    session
}

#[tokio::test(start_paused = true)]
async fn without_aggregated_discovery_each_group_version_is_requested() {
    let session = old_server(|| status(503, "ServiceUnavailable", "the server is down", &json!({})));
    let path = async |text: &str| session.resource(&gvk(text)).await.map(|found| found.path(None, "x"));
    assert_eq!(path("v1/Pod").await.unwrap(), "/api/v1/namespaces/default/pods/x");
    assert_eq!(path("v1/Node").await.unwrap(), "/api/v1/nodes/x");
    assert_eq!(path("apps/v1/Deployment").await.unwrap(), "/apis/apps/v1/namespaces/default/deployments/x");
    let missing = path("apps/v1/Scale").await.unwrap_err();
    assert!(matches!(missing.kind(), ErrorKind::KindMissing(_)), "{missing:?}");
    // Nothing is known about a group whose server is down.
    assert!(path("metrics.k8s.io/v1/NodeMetrics").await.unwrap_err().is_server_fault());
    assert_eq!(session.stale_groups().await.unwrap().into_iter().collect::<Vec<_>>(), ["metrics.k8s.io"]);

    let refusing = old_server(|| status(401, "Unauthorized", "", &json!({})));
    let refused = refusing.resource(&gvk("v1/Pod")).await.unwrap_err();
    assert_eq!(refused.class(), Class::AuthenticationFailed);
}

#[tokio::test(start_paused = true)]
async fn kinds_have_plural_singular_and_short_names() {
    let listed = json!({ "resource": "widgets", "responseKind": { "kind": "Widget" }, "scope": "Cluster",
        "singularResource": "widget", "shortNames": ["wd"], "categories": ["shop"], "verbs": ["get"] });
    let aggregated = json!({ "kind": "APIGroupDiscoveryList", "items": [
        { "metadata": { "name": "example.com" }, "versions": [{ "version": "v1", "resources": [listed] }] } ] });
    let (new, _) =
        raw_session(move |seen| ok(&if seen.path == "/api" { core() } else { aggregated.clone() }));
    let (old, _) = raw_session(|seen| match seen.path.as_str() {
        "/api" => ok(&json!({ "kind": "APIVersions", "versions": ["v1"] })),
        "/api/v1" => ok(&json!({ "kind": "APIResourceList", "resources": [
            { "name": "pods", "kind": "Pod", "namespaced": true } ] })),
        "/apis" => ok(&json!({ "kind": "APIGroupList", "groups": [
            { "name": "example.com", "versions": [{ "version": "v1" }] } ] })),
        _ => ok(&json!({ "kind": "APIResourceList", "resources": [
            { "name": "widgets", "kind": "Widget", "namespaced": false, "singularName": "widget", "shortNames": ["wd"], "categories": ["shop"], "verbs": ["get"] } ] })),
    });
    for session in [new, old] {
        let found = session.resource(&gvk("example.com/v1/Widget")).await.unwrap();
        assert_eq!((found.singular.as_str(), &found.short_names[..]), ("widget", &["wd".to_owned()][..]));
        assert_eq!(found.categories, ["shop"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_discovery_fails_all_its_waiters_at_once() {
    let (session, journal) = raw_session(|_| reply(403, &json!({})));
    let widget = gvk("example.com/v1/Widget");
    let lookups = join_all((0..50).map(|_| session.resource(&widget))).await;
    assert!(lookups.iter().all(Result::is_err));
    assert_eq!(journal.count("GET /apis"), 1);
    // A later caller asks again.
    session.resource(&widget).await.unwrap_err();
    assert_eq!(journal.count("GET /apis"), 2);
}

#[tokio::test]
async fn invalidation_during_a_discovery_is_not_lost() {
    let (shared, appeared) = (Arc::new(Mutex::new(None::<Session>)), Arc::new(AtomicBool::new(false)));
    let (inside, there) = (Arc::clone(&shared), Arc::clone(&appeared));
    let (session, journal) = raw_session(move |seen| match seen.path.as_str() {
        "/api" => ok(&core()),
        "/apis" if there.load(Ordering::Relaxed) => {
            ok(&kinds(&[("example.com", "v1", &[("widgets", "Widget", true)])]))
        }
        "/apis" => {
            // The kind appears just after the server has answered, and the caller reports the change.
            there.store(true, Ordering::Relaxed);
            inside.lock().unwrap().as_ref().unwrap().invalidate_discovery();
            ok(&kinds(&[]))
        }
        path => panic!("{path}"),
    });
    *shared.lock().unwrap() = Some(session.clone());
    // Callers from before the change get the old catalog; callers after it get the new one.
    session.resources().await.unwrap();
    let kinds = session.resources().await.unwrap();
    assert!(kinds.iter().any(|resource| resource.gvk.kind() == "Widget"), "{kinds:?}");
    assert_eq!(journal.count("GET /apis"), 2);
    shared.lock().unwrap().take();
}

#[test]
fn no_name_leads_to_another_path() {
    let resource = Resource {
        gvk: "v1/Namespace".parse().unwrap(),
        plural: "namespaces".to_owned(),
        singular: String::new(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: false,
        verbs: Vec::new(),
    };
    for (name, expected) in [
        ("shop", "/api/v1/namespaces/shop"),
        ("system:admin", "/api/v1/namespaces/system:admin"),
        // The API server decodes once, and then no object has the name.
        ("x/secrets/s1", "/api/v1/namespaces/x%252Fsecrets%252Fs1"),
        ("", "/api/v1/namespaces/%252F"),
        ("..", "/api/v1/namespaces/%252E%252E"),
        ("a%2Fb", "/api/v1/namespaces/a%252Fb"),
    ] {
        assert_eq!(resource.path(None, name), expected);
    }
}
