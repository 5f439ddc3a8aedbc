use futures::future::join_all;
use serde_json::json;

use super::*;
use crate::test_server::{config_map, core, kinds, ok, plain, raw_session, reply, session};
use crate::{Secret, Write};

fn gvk(text: &str) -> GroupVersionKind {
    text.parse().unwrap()
}

fn map(name: &str) -> ObjectRef {
    ObjectRef::new(gvk("v1/ConfigMap"), manifest::Namespace::new("shop"), name)
}

#[tokio::test]
async fn a_thousand_applies_of_known_kinds_share_one_discovery() {
    let (session, journal) = session(|seen| reply(201, &seen.body));
    let names: Vec<String> = (0..1000).map(|number| format!("n{number}")).collect();
    let applies = names.iter().map(|name| {
        let session = session.clone();
        async move { session.apply(&map(name), &config_map(name), Write::by("test")).await.unwrap() }
    });
    join_all(applies).await;
    assert_eq!(journal.count("GET /api"), 1);
    assert_eq!(journal.count("GET /apis"), 1);
    assert_eq!(journal.work().len(), 1000);
}

#[tokio::test]
async fn a_missing_kind_triggers_one_shared_discovery() {
    let (session, journal) = session(|_| plain(500, ""));
    let widget = gvk("example.com/v1/Widget");
    let lookups = join_all((0..100).map(|_| session.resource(&widget))).await;
    for lookup in lookups {
        assert!(matches!(lookup.unwrap_err().kind(), ErrorKind::KindMissing(_)));
    }
    // One for all callers, and one or two for those that missed, depending on who asked while it was in flight.
    assert!(journal.count("GET /apis") <= 3, "{}", journal.count("GET /apis"));

    let before = journal.count("GET /apis");
    session.resource(&widget).await.unwrap_err();
    assert_eq!(journal.count("GET /apis"), before + 1);
    session.resource(&gvk("v1/ConfigMap")).await.unwrap();
    assert_eq!(journal.count("GET /apis"), before + 1);
}

#[tokio::test]
async fn a_kind_added_later_is_found() {
    let mut asked = 0;
    let (session, _) = raw_session(move |seen| {
        asked += usize::from(seen.path == "/apis");
        match (seen.path.as_str(), asked) {
            ("/apis", 2..) => ok(&kinds(&[("example.com", "v1", &[("widgets", "Widget", true)])])),
            ("/api", _) => ok(&core()),
            _ => ok(&kinds(&[])),
        }
    });
    let found = session.resource(&gvk("example.com/v1/Widget")).await.unwrap();
    assert_eq!((found.plural.as_str(), found.namespaced), ("widgets", true));
}

#[tokio::test]
async fn a_group_whose_server_is_down_proves_no_kind_missing() {
    let (session, _) = raw_session(|seen| match seen.path.as_str() {
        "/apis" => ok(&json!({ "kind": "APIGroupDiscoveryList", "items": [
            { "metadata": { "name": "metrics.k8s.io" }, "versions": [{ "version": "v1", "freshness": "Stale" }] },
        ] })),
        _ => ok(&core()),
    });
    let error = session.resource(&gvk("metrics.k8s.io/v1/NodeMetrics")).await.unwrap_err();
    assert!(error.is_server_fault(), "{error:?}");
}

#[tokio::test]
async fn a_missing_path_means_a_missing_kind_only_if_discovery_agrees() {
    // The kind was removed after the first discovery.
    let mut asked = 0;
    let (gone, _) = raw_session(move |seen| {
        asked += usize::from(seen.path == "/apis");
        match (seen.path.as_str(), asked) {
            ("/apis", 1) => ok(&kinds(&[("example.com", "v1", &[("widgets", "Widget", true)])])),
            ("/apis", _) => ok(&kinds(&[])),
            ("/api", _) => ok(&core()),
            _ => plain(404, "404 page not found\n"),
        }
    });
    let widget = ObjectRef::new(gvk("example.com/v1/Widget"), None, "w");
    let error = gone.read(&widget).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::KindMissing(_)), "{error:?}");

    // A response from something other than the API server says nothing about the object.
    let (foreign, _) = session(|_| plain(404, "404 page not found\n"));
    let error = foreign.read(&map("a")).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::UnexpectedResponse { code: 404, .. }), "{error:?}");
    let diagnostic = error.diagnostic("Read");
    assert_eq!(diagnostic.summary, "Read: Cluster Connection Failed");
    assert!(diagnostic.detail.ends_with("unexpected response (HTTP 404): 404 page not found"));
}

#[tokio::test]
async fn equal_connections_share_a_session() {
    let sessions = Sessions::new(Environment::default(), "test");
    let connection = |token: &str| Connection {
        host: Some("https://127.0.0.1:1".to_owned()),
        insecure: true,
        token: Some(Secret::from(token)),
        ..Connection::default()
    };
    let same = |a: &Session, b: &Session| Arc::ptr_eq(&a.0, &b.0);
    let first = sessions.get(&connection("a")).unwrap();
    assert!(same(&first, &sessions.get(&connection("a")).unwrap()));
    assert!(!same(&first, &sessions.get(&connection("b")).unwrap()));
    assert!(sessions.get(&Connection::default()).is_err());
}
