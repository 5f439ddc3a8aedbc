use serde_json::json;

use super::*;
use crate::test_server::{Answer, Seen, ok, session, status, stream};

fn target() -> ObjectRef {
    ObjectRef::new("v1/ConfigMap".parse().unwrap(), manifest::Namespace::new("shop"), "a")
}

fn at(state: &str, version: u32) -> Value {
    json!({ "metadata": { "name": "a", "resourceVersion": version.to_string() }, "state": state })
}

fn absent() -> Answer {
    status(404, "NotFound", "configmaps \"a\" not found", &json!({ "name": "a", "kind": "configmaps" }))
}

fn change(kind: &str, object: &Value) -> String {
    json!({ "type": kind, "object": object }).to_string() + "\n"
}

/// Met by `ready`, and can never be met after `broken`.
fn check(object: Option<&Value>) -> Check<String> {
    match object.and_then(|object| object["state"].as_str()) {
        Some("ready") => Check::Met("yes".to_owned()),
        Some("broken") => Check::Never("it is broken".to_owned()),
        Some(state) => Check::NotYet(format!("it is {state}")),
        None => Check::NotYet("it is not there".to_owned()),
    }
}

fn is_watch(seen: &Seen) -> bool {
    seen.query.contains("watch=true")
}

#[tokio::test(start_paused = true)]
async fn a_check_that_is_already_met_costs_one_read() {
    let (session, journal) = session(|_| ok(&at("ready", 1)));
    let waited = session.wait_until(&target(), Duration::from_secs(9), check).await.unwrap();
    assert_eq!(waited, WaitOutcome::Met { value: "yes".to_owned(), object: Some(at("ready", 1)) });
    assert_eq!(journal.work().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn every_change_is_checked() {
    let (session, journal) = session(|seen| {
        if is_watch(seen) {
            assert!(seen.query.contains("fieldSelector=metadata.name%3Da"), "{}", seen.query);
            assert!(seen.query.contains("resourceVersion=1"), "{}", seen.query);
            return stream(&(change("MODIFIED", &at("warming", 2)) + &change("MODIFIED", &at("ready", 3))));
        }
        ok(&at("cold", 1))
    });
    let waited = session.wait_until(&target(), Duration::from_secs(9), check).await.unwrap();
    assert!(matches!(waited, WaitOutcome::Met { .. }));
    assert_eq!(
        journal.work(),
        ["GET /api/v1/namespaces/shop/configmaps/a", "GET /api/v1/namespaces/shop/configmaps"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_may_appear_later_or_never_meet_the_check() {
    let (session, _) =
        session(|seen| if is_watch(seen) { stream(&change("ADDED", &at("broken", 2))) } else { absent() });
    let waited = session.wait_until(&target(), Duration::from_secs(9), check).await.unwrap();
    assert_eq!(waited, WaitOutcome::Never { why: "it is broken".to_owned(), object: Some(at("broken", 2)) });
}

#[tokio::test(start_paused = true)]
async fn one_deadline_covers_all_reconnects() {
    let mut turn = 0;
    let (session, journal) = session(move |seen| {
        turn += 1;
        match (is_watch(seen), turn % 4) {
            (false, _) => ok(&at("cold", 1)),
            (true, 0) => status(410, "Expired", "too old", &json!({})),
            (true, 1) => status(503, "", "busy", &json!({})),
            (true, _) => stream(""),
        }
    });
    let began = tokio::time::Instant::now();
    let waited = session.wait_until(&target(), Duration::from_secs(600), check).await.unwrap();
    assert_eq!(waited, WaitOutcome::TimedOut { why: "it is cold".to_owned(), object: Some(at("cold", 1)) });
    assert_eq!(began.elapsed(), Duration::from_secs(600));
    assert!(journal.work().len() < 600, "{}", journal.work().len());
}

#[tokio::test(start_paused = true)]
async fn without_permission_to_watch_the_object_is_polled() {
    let mut reads = 0;
    let (session, _) = session(move |seen| {
        if is_watch(seen) {
            return status(403, "Forbidden", "no", &json!({}));
        }
        reads += 1;
        ok(&at(if reads < 4 { "cold" } else { "ready" }, reads))
    });
    let began = tokio::time::Instant::now();
    let waited = session.wait_until(&target(), Duration::from_secs(60), check).await.unwrap();
    assert!(matches!(waited, WaitOutcome::Met { .. }));
    assert_eq!(began.elapsed(), Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn an_object_whose_watch_does_not_work_is_polled() {
    let mut reads = 0;
    let (session, _) = session(move |seen| {
        if is_watch(seen) {
            return status(503, "ServiceUnavailable", "no watches today", &json!({}));
        }
        reads += 1;
        ok(&at(if reads < 3 { "cold" } else { "ready" }, reads))
    });
    let began = tokio::time::Instant::now();
    let waited = session.wait_until(&target(), Duration::from_secs(600), check).await.unwrap();
    assert!(matches!(waited, WaitOutcome::Met { .. }));
    assert_eq!(began.elapsed(), CHECK * 2);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_is_absent_and_a_denied_read_is_an_error() {
    let (session, _) =
        session(
            |seen| {
                if is_watch(seen) { stream(&change("DELETED", &at("cold", 2))) } else { ok(&at("cold", 1)) }
            },
        );
    let waited = session
        .wait_until(&target(), Duration::from_secs(60), |object| match object {
            None => Check::Met(()),
            Some(_) => Check::NotYet("still there".to_owned()),
        })
        .await
        .unwrap();
    assert_eq!(waited, WaitOutcome::Met { value: (), object: None });

    let (session, _) = crate::test_server::session(|_| status(403, "Forbidden", "no", &json!({})));
    assert!(session.wait_until(&target(), Duration::from_secs(60), check).await.is_err());
}
