use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;
use crate::error::Class;
use crate::test_server::{
    Answer, Journal, Seen, config_map, core, kinds, ok, plain, raw_session, reply, session, status, stream,
};

fn widget() -> (ObjectRef, Value) {
    let gvk = "example.com/v1/Widget".parse().unwrap();
    let body = json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" } });
    (ObjectRef::new(gvk, None, "w"), body)
}

fn crd(established: bool) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com", "resourceVersion": "2" },
        "spec": {
            "group": "example.com", "names": { "kind": "Widget", "plural": "widgets" },
            "versions": [{ "name": "v1", "served": true }],
        },
        "status": { "conditions": [{ "type": "Established", "status": if established { "True" } else { "False" } }] },
    })
}

fn discovery(with_widgets: bool) -> Value {
    let crds: (&str, &str, &[(&str, &str, bool)]) =
        ("apiextensions.k8s.io", "v1", &[("customresourcedefinitions", "CustomResourceDefinition", false)]);
    if with_widgets {
        kinds(&[crds, ("example.com", "v1", &[("widgets", "Widget", false)])])
    } else {
        kinds(&[crds])
    }
}

/// A server without Widgets: when their CRD appears, and what may be watched.
struct Server {
    /// The CRD is established this long after the first request.
    after: Option<Duration>,
    may_watch: bool,
    /// After that, this many attempts get a 404 for the path.
    without_path: usize,
}

impl Server {
    fn session(self) -> (Session, Journal) {
        let mut began = None;
        let mut attempts = 0;
        raw_session(move |seen: &Seen| {
            let began = *began.get_or_insert(Instant::now());
            let there = self.after.is_some_and(|after| began.elapsed() >= after);
            match seen.path.as_str() {
                "/api" => ok(&core()),
                "/apis" => ok(&discovery(there)),
                "/apis/example.com/v1/widgets/w" if there => {
                    attempts += 1;
                    if attempts <= self.without_path {
                        plain(404, "404 page not found")
                    } else {
                        reply(201, &seen.body)
                    }
                }
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" if !self.may_watch => {
                    status(403, "Forbidden", "no", &json!({}))
                }
                _ if seen.query.contains("watch=true") => {
                    // The response arrives when there is news: first an unrelated change, then the one that matters.
                    let line =
                        |object: &Value| json!({ "type": "MODIFIED", "object": object }).to_string() + "\n";
                    let text = line(&crd(false)) + &if there { line(&crd(true)) } else { String::new() };
                    stream(&text)
                }
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" => {
                    ok(&json!({ "metadata": { "resourceVersion": "1" }, "items": [] }))
                }
                _ => plain(404, "404 page not found"),
            }
        })
    }
}

async fn applied(server: Server) -> (Result<Reply, Error>, Duration, Journal) {
    let (session, journal) = server.session();
    let (target, body) = widget();
    let began = Instant::now();
    let outcome = session.apply_when_possible(&target, &body, Write::by("m")).await;
    (outcome, began.elapsed(), journal)
}

#[tokio::test(start_paused = true)]
async fn an_apply_continues_as_soon_as_its_kind_is_established() {
    // This server ends every watch at once, and the watch is reopened with growing pauses, so the CRD is seen within
    // one pause (5 s) and not at the next tick (10 s).
    let (outcome, elapsed, _) =
        applied(Server { after: Some(Duration::from_secs(9)), may_watch: true, without_path: 0 }).await;
    assert!(outcome.unwrap().created());
    assert!(elapsed < Duration::from_secs(15), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn paths_that_lag_behind_discovery_are_retried() {
    let (outcome, elapsed, _) =
        applied(Server { after: Some(Duration::from_millis(700)), may_watch: true, without_path: 3 }).await;
    assert!(outcome.unwrap().created());
    assert!(elapsed < Duration::from_secs(3), "{elapsed:?}");
}

/// A kind that joins an existing group appears in discovery before its paths do.
#[tokio::test(start_paused = true)]
async fn paths_that_lag_behind_discovery_from_the_start_are_retried_briefly() {
    let (outcome, elapsed, _) =
        applied(Server { after: Some(Duration::ZERO), may_watch: true, without_path: 5 }).await;
    assert!(outcome.unwrap().created());
    assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");

    let (outcome, elapsed, journal) =
        applied(Server { after: Some(Duration::ZERO), may_watch: true, without_path: usize::MAX }).await;
    assert_eq!(outcome.unwrap_err().class(), Class::ConnectionFailed);
    assert!(elapsed >= CATCH_UP && elapsed < CATCH_UP * 2, "{elapsed:?}");
    assert!(journal.work().len() < 50, "{}", journal.work().len());
}

#[tokio::test(start_paused = true)]
async fn without_permission_to_watch_the_schedule_decides() {
    let (outcome, elapsed, _) =
        applied(Server { after: Some(Duration::from_secs(4)), may_watch: false, without_path: 0 }).await;
    assert!(outcome.unwrap().created());
    // Attempts are at 0, 0.1, 0.6, 1.6, 3.6, 8.6, 18.6 and 28.6 s.
    assert_eq!(elapsed, Duration::from_millis(8600));
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_never_appears_is_an_error_after_the_schedule() {
    for may_watch in [true, false] {
        let (outcome, elapsed, journal) = applied(Server { after: None, may_watch, without_path: 0 }).await;
        let error = outcome.unwrap_err();
        assert_eq!(error.class(), Class::KindMissing);
        assert!(elapsed >= Duration::from_millis(28_600) && elapsed < Duration::from_secs(30), "{elapsed:?}");
        let diagnostic = error.diagnostic("Create");
        assert_eq!(diagnostic.summary, "Create: Custom Resource Definition Not Found");
        assert!(
            diagnostic.detail.starts_with(
                "CRD for Widget/w not found after 30s: no matches for kind \"Widget\" in \"example.com/v1\"."
            ),
            "{}",
            diagnostic.detail
        );
        // Nothing was written to a path that does not exist.
        assert!(journal.all().iter().all(|seen| seen.method == "GET"));
    }
}

/// A server whose namespace `shop` appears after the first `missing` attempts.
fn namespaced(missing: usize) -> impl FnMut(&Seen) -> Answer + Send {
    let tries = Arc::new(Mutex::new(0));
    move |seen| {
        let mut tries = tries.lock().unwrap();
        match seen.method.as_str() {
            "PATCH" => {
                *tries += 1;
                if *tries > missing {
                    return reply(201, &seen.body);
                }
                let details = json!({ "name": "shop", "kind": "namespaces" });
                status(404, "NotFound", "namespaces \"shop\" not found", &details)
            }
            _ if seen.query.contains("watch=true") => {
                let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop", "resourceVersion": "2" }, "status": { "phase": "Active" } });
                stream(&(json!({ "type": "ADDED", "object": namespace }).to_string() + "\n"))
            }
            _ => ok(&json!({ "metadata": { "resourceVersion": "1" }, "items": [] })),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_namespace_is_waited_for_too() {
    let target = ObjectRef::new("v1/ConfigMap".parse().unwrap(), manifest::Namespace::new("shop"), "a");
    let (session_, journal) = session(namespaced(1));
    let began = Instant::now();
    session_.apply_when_possible(&target, &config_map("a"), Write::by("m")).await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(100));
    let watch = journal.all().into_iter().find(|seen| seen.query.contains("watch=true")).unwrap();
    assert_eq!(watch.path, "/api/v1/namespaces");
    assert!(watch.query.contains("fieldSelector=metadata.name%3Dshop"), "{}", watch.query);

    let (session_, _) = session(namespaced(usize::MAX));
    let error = session_.apply_when_possible(&target, &config_map("a"), Write::by("m")).await.unwrap_err();
    assert!(error.diagnostic("Create").detail.starts_with("Namespace \"shop\" not found after "));
}

#[tokio::test(start_paused = true)]
async fn other_errors_are_returned_at_once() {
    let target = ObjectRef::new("v1/ConfigMap".parse().unwrap(), manifest::Namespace::new("shop"), "a");
    for (code, reason, message, details) in [
        (500, "", "failed to create typed patch object: .spec.x: field not declared in schema", json!({})),
        (
            403,
            "Forbidden",
            "unable to create new content in namespace shop because it is being terminated",
            json!({}),
        ),
        (
            404,
            "NotFound",
            "configmaps \"namespaces not found\" not found",
            json!({ "name": "a", "kind": "configmaps" }),
        ),
        (409, "Conflict", "no matches for kind", json!({})),
        (403, "Forbidden", "admission webhook \"a.example.org\" denied the request: no", json!({})),
        (
            500,
            "InternalError",
            "Internal error occurred: failed calling webhook \"a\": received invalid webhook response: no",
            json!({}),
        ),
    ] {
        let (session, journal) = session(move |_| status(code, reason, message, &details));
        let began = Instant::now();
        session.apply_when_possible(&target, &config_map("a"), Write::by("m")).await.unwrap_err();
        assert_eq!(began.elapsed(), Duration::ZERO, "{message}");
        assert_eq!(journal.work().len(), 1, "{message}");
    }
}

/// How the API server reports a webhook that it could not call.
fn uncalled(webhook: &str) -> Answer {
    let message = format!(
        "Internal error occurred: failed calling webhook \"{webhook}\": failed to call webhook: Post \"https://a.shop.svc:443/?timeout=10s\": no endpoints available for service \"a\""
    );
    status(500, "InternalError", &message, &json!({}))
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_cannot_be_called_yet_is_waited_for() {
    let target = ObjectRef::new("v1/ConfigMap".parse().unwrap(), manifest::Namespace::new("shop"), "a");
    let mut calls = 0;
    let (session, journal) = session(move |seen| {
        calls += 1;
        if calls <= 4 { uncalled("a.example.org") } else { reply(201, &seen.body) }
    });
    let began = Instant::now();
    session.apply_when_possible(&target, &config_map("a"), Write::by("m")).await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_millis(3600), "by the schedule");
    assert_eq!(journal.work().len(), 5, "only the apply itself shows whether the webhook answers");
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_stays_down_costs_one_wait_and_not_one_for_each_object() {
    let target = ObjectRef::new("v1/ConfigMap".parse().unwrap(), manifest::Namespace::new("shop"), "a");
    let (session, _) = session(|_| uncalled("a.example.org"));
    let apply = || async {
        let began = Instant::now();
        let outcome = session.apply_when_possible(&target, &config_map("a"), Write::by("m")).await;
        (outcome.unwrap_err().diagnostic("Create"), began.elapsed())
    };
    let ((first, waited), (_, beside)) = tokio::join!(apply(), apply());
    assert_eq!((waited.as_secs(), beside.as_secs()), (28, 28));
    assert_eq!(first.summary, "Create: Kubernetes API Error");
    assert!(first.detail.contains("no endpoints available for service"), "{}", first.detail);
    assert!(first.detail.ends_with("Waited 28 s for webhook a.example.org to respond."), "{}", first.detail);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (later, waited) = apply().await;
    assert_eq!(waited, Duration::ZERO);
    assert!(!later.detail.contains("Waited"), "{}", later.detail);
    // Another outage is another matter.
    tokio::time::sleep(PATIENCE * 3).await;
    assert_eq!(apply().await.1.as_secs(), 28);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_ends_the_wait() {
    let (session, _) = Server { after: None, may_watch: true, without_path: 0 }.session();
    let (target, body) = widget();
    let began = Instant::now();
    let stop = tokio::time::sleep(Duration::from_millis(1234));
    tokio::select! {
        outcome = session.apply_when_possible(&target, &body, Write::by("m")) => panic!("{outcome:?}"),
        () = stop => {}
    }
    assert_eq!(began.elapsed(), Duration::from_millis(1234));
}

#[test]
fn only_an_established_crd_that_serves_the_version_counts() {
    let check = |gvk: &str, change: fn(&mut Value), expected: bool| {
        let mut object = crd(true);
        change(&mut object);
        assert_eq!(Dependency::Kind(gvk.parse().unwrap()).is_met_by(&object), expected, "{gvk} {object}");
    };
    check("example.com/v1/Widget", |_| {}, true);
    check("example.com/v2/Widget", |_| {}, false);
    check("example.org/v1/Widget", |_| {}, false);
    check("example.com/v1/Gadget", |_| {}, false);
    check("example.com/v1/Widget", |crd| crd["spec"]["versions"][0]["served"] = json!(false), false);
    check("example.com/v1/Widget", |crd| crd["status"] = json!({}), false);
    check("example.com/v1/Widget", |crd| crd["status"]["conditions"][0]["status"] = json!("False"), false);
    check(
        "example.com/v1/Widget",
        |crd| crd["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
        false,
    );
    let namespace = |phase: &str| {
        Dependency::Namespace("a".to_owned()).is_met_by(&json!({
            "apiVersion": "v1", "kind": "Namespace", "status": { "phase": phase },
        }))
    };
    assert!(namespace("Active") && !namespace("Terminating"));
}
