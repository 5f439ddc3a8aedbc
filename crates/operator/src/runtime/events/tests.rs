//! Events on a server without a socket.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::runtime::testing::{Journal, Response, Seen, client, refusal};

const POST: &str = "POST /api/v1/namespaces/shop/events";

fn queue() -> Map<String, Value> {
    let queue = json!({
        "apiVersion": "queue.oracle.com/v1beta1", "kind": "Queue",
        "metadata": { "namespace": "shop", "name": "orders", "uid": "u-1", "resourceVersion": "7" },
    });
    queue.as_object().unwrap().clone()
}

/// Records `count` Events on a queue and delivers them to a server that answers its n-th request by `answer`.
async fn check(
    count: usize,
    limit: Duration,
    answer: impl FnMut(usize, &Seen) -> Response + Send + 'static,
) -> Journal {
    check_counting(count, limit, answer).await.0
}

/// The same, and the Events counted as lost before the one that came too late.
async fn check_counting(
    count: usize,
    limit: Duration,
    mut answer: impl FnMut(usize, &Seen) -> Response + Send + 'static,
) -> (Journal, String) {
    let mut asked = 0;
    let (client, journal) = client(move |seen| {
        asked += 1;
        answer(asked, seen)
    });
    let metrics = Metrics::new();
    let events = Events::start(client, "pod-1", metrics.clone());
    let recorder = events.recorder("plimsoll-oci");
    for number in 0..count {
        recorder.record(reference(&queue()), EventType::Normal, "Created", &format!("number {number}"));
    }
    events.finish(limit).await;
    let lost = lost(&metrics);
    recorder.record(reference(&queue()), EventType::Normal, "Late", "delivery has ended");
    (journal, lost)
}

/// The Events counted as lost.
fn lost(metrics: &Metrics) -> String {
    let text = metrics.text(Timestamp::UNIX_EPOCH);
    let mut lines: Vec<&str> =
        text.lines().filter(|line| line.starts_with("plimsoll_events_lost_total")).collect();
    lines.sort_unstable();
    lines.join("\n")
}

fn accept(seen: &Seen) -> Response {
    Response::Json(201, seen.body.clone())
}

/// The different Events that were sent.
fn names(journal: &Journal) -> BTreeSet<String> {
    journal.all().iter().map(|seen| seen.body["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_event_names_the_object_the_controller_and_what_happened() {
    let journal = check(1, Duration::from_secs(5), |_, seen| accept(seen)).await;
    let [seen] = &journal.all()[..] else { panic!("one event, one request") };
    assert_eq!(seen.line, POST);
    let body = &seen.body;
    let name = body["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("orders.") && name.len() == "orders.".len() + 16, "{name}");
    assert_eq!(body["metadata"]["namespace"], "shop");
    assert_eq!(
        body["involvedObject"],
        json!({
            "apiVersion": "queue.oracle.com/v1beta1", "kind": "Queue", "namespace": "shop", "name": "orders",
            "uid": "u-1", "resourceVersion": "7",
        })
    );
    assert_eq!(
        json!([body["type"], body["reason"], body["message"], body["count"]]),
        json!(["Normal", "Created", "number 0", 1])
    );
    assert_eq!(
        json!([body["source"], body["reportingComponent"], body["reportingInstance"]]),
        json!([{ "component": "plimsoll-oci" }, "plimsoll-oci", "pod-1"])
    );
    assert_eq!(body["firstTimestamp"], body["lastTimestamp"]);
}

#[tokio::test(start_paused = true)]
async fn every_event_is_one_request() {
    let journal = check(500, Duration::from_secs(5), |_, seen| accept(seen)).await;
    assert_eq!((journal.all().len(), names(&journal).len()), (500, 500));
}

#[tokio::test(start_paused = true)]
async fn transient_errors_neither_lose_nor_repeat_an_event() {
    let trouble = |number: usize, seen: &Seen| match number % 5 {
        0 => refusal(503, "ServiceUnavailable"),
        1 => refusal(429, "TooManyRequests"),
        2 => Response::Broken,
        // It was delivered by an attempt whose answer never came.
        3 => refusal(409, "AlreadyExists"),
        _ => accept(seen),
    };
    let journal = check(20, Duration::from_secs(600), trouble).await;
    assert_eq!(names(&journal).len(), 20);
    let ended = (1..=journal.all().len()).filter(|number| matches!(number % 5, 3 | 4)).count();
    assert_eq!(ended, 20, "each ends by being accepted or known, and is not sent again after that");
}

#[tokio::test(start_paused = true)]
async fn a_rejected_event_is_not_sent_again() {
    let (journal, lost) = check_counting(3, Duration::from_secs(60), |_, _| refusal(403, "Forbidden")).await;
    assert_eq!(journal.all().len(), 3);
    assert_eq!(lost, r#"plimsoll_events_lost_total{reason="refused"} 3"#);
}

#[tokio::test(start_paused = true)]
async fn every_lost_event_is_counted() {
    let hour = Duration::from_secs(3600);
    let (_, lost) = check_counting(3, hour, |_, _| refusal(503, "ServiceUnavailable")).await;
    assert_eq!(lost, r#"plimsoll_events_lost_total{reason="no-answer"} 3"#);
    // Eight are under way and the others wait when the operator ends.
    let (_, lost) = check_counting(20, Duration::from_secs(5), |_, _| Response::Silence).await;
    assert_eq!(lost, r#"plimsoll_events_lost_total{reason="ending"} 20"#);
    let (_, lost) = check_counting(MAX_PENDING + 2, hour, |_, seen| accept(seen)).await;
    assert_eq!(lost, r#"plimsoll_events_lost_total{reason="too-many"} 2"#);
    let (_, lost) = check_counting(3, hour, |_, seen| accept(seen)).await;
    assert_eq!(lost, "");
}

#[tokio::test(start_paused = true)]
async fn an_event_after_the_end_is_counted_as_lost() {
    let (client, _) = client(accept);
    let metrics = Metrics::new();
    let events = Events::start(client, "pod-1", metrics.clone());
    events.finish(Duration::from_secs(5)).await;
    events.recorder("plimsoll").record(reference(&queue()), EventType::Normal, "Late", "");
    assert_eq!(lost(&metrics), r#"plimsoll_events_lost_total{reason="ending"} 1"#);
}

#[tokio::test(start_paused = true)]
async fn finishing_has_a_limit() {
    let began = tokio::time::Instant::now();
    check(3, Duration::from_secs(5), |_, _| Response::Silence).await;
    assert_eq!(began.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn an_event_of_an_object_without_namespace_is_in_default() {
    let (client, _) = client(accept);
    let recorder = Events::start(client, "pod-1", Metrics::new()).recorder("plimsoll");
    let object = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1" } });
    let event = recorder.event(
        reference(object.as_object().unwrap()),
        EventType::Warning,
        "",
        "",
        Timestamp::UNIX_EPOCH,
        1,
    );
    assert_eq!(event.metadata.namespace.as_deref(), Some("default"));
    assert_eq!(event.involved_object.namespace, None);
    assert_eq!(event.type_.as_deref(), Some("Warning"));
}

#[test]
fn names_of_events_are_valid() {
    let check = |object: &str, expected: &str| assert_eq!(name(object, 0xabc), expected);
    check("orders", "orders.0000000000000abc");
    check("system:Admin", "system--dmin.0000000000000abc");
    check("", "event.0000000000000abc");
    check("::", "event.0000000000000abc");
    assert_eq!(name(&"x".repeat(253), 1).len(), MAX_NAME);
}

#[test]
fn long_texts_are_cut_between_characters() {
    let check = |text: &str, limit: usize, expected: &str| assert_eq!(cut(text, limit), expected);
    check("short", 5, "short");
    check("longer", 5, "lo…");
    check("äöü", 5, "ä…");
    assert_eq!(cut(&"ä".repeat(1000), MAX_MESSAGE).len(), 1023);
}

#[tokio::test(start_paused = true)]
async fn a_controller_for_one_xrd_is_named_in_an_annotation() {
    let (client, journal) = client(accept);
    let events = Events::start(client, "pod-1", Metrics::new());
    let recorder = events.recorder("defined").of_controller("composite/xapps.example.org");
    recorder.record(reference(&queue()), EventType::Normal, "Created", "x");
    events.finish(Duration::from_secs(5)).await;
    let [seen] = &journal.all()[..] else { panic!("one event, one request") };
    assert_eq!(seen.body["metadata"]["annotations"], json!({"controller": "composite/xapps.example.org"}));
}

#[tokio::test(start_paused = true)]
async fn earlier_events_are_listed_once_page_by_page() {
    let (client, journal) = client(|seen| {
        let event = |message: &str| {
            json!({
                "metadata": {"name": message, "namespace": "shop"}, "involvedObject": {"uid": "u-1"},
                "type": "Warning", "reason": "Failed", "message": message,
            })
        };
        let (more, event) =
            if seen.query.contains("continue=") { ("", event("second")) } else { ("more", event("first")) };
        Response::Json(200, json!({"kind": "EventList", "metadata": {"continue": more}, "items": [event]}))
    });
    let events = Events::start(client, "pod-1", Metrics::new());
    let recorder = events.recorder("defined/xrds");
    let check = async |kind: EventType, reason: &str, message: &str, expected: bool| {
        let known = recorder.has_recorded(&reference(&queue()), kind, reason, message).await;
        assert_eq!(known, expected, "{kind:?} {reason} {message}");
    };
    check(EventType::Warning, "Failed", "first", true).await;
    check(EventType::Warning, "Failed", "second", true).await;
    check(EventType::Warning, "Failed", "third", false).await;
    check(EventType::Normal, "Failed", "first", false).await;
    assert_eq!(journal.count("GET /api/v1/events", "fieldSelector=source%3Ddefined%2Fxrds"), 2);
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_list_events_none_counts_as_recorded() {
    let (client, journal) = client(|_| refusal(403, "Forbidden"));
    let events = Events::start(client, "pod-1", Metrics::new());
    for _ in 0..2 {
        let known =
            events.recorder("a").has_recorded(&reference(&queue()), EventType::Normal, "A", "b").await;
        assert!(!known);
    }
    assert_eq!(journal.count("GET /api/v1/events", ""), 1, "it is asked once");
}

#[test]
fn an_event_log_yields_what_the_last_reconcile_did_not_have_once() {
    let mut log = EventLog::default();
    let none = BTreeSet::new();
    assert!(log.is_unknown());
    assert_eq!(log.update(vec!["a", "b", "a"], &none), ["a", "b"]);
    assert_eq!(log.update(vec!["b", "c"], &none), ["c"]);
    assert_eq!(log.update(vec!["a", "c", "d"], &BTreeSet::from(["d"])), ["a"]);
    assert_eq!(log.update(vec![], &none), Vec::<&str>::new());
    assert!(!log.is_unknown());
}
