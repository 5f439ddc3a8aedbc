//! Events on a server without a socket.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::testing::{Answer, Journal, Seen, client, refusal};

const POST: &str = "POST /api/v1/namespaces/shop/events";

fn queue() -> Value {
    json!({
        "apiVersion": "queue.oracle.com/v1beta1", "kind": "Queue",
        "metadata": { "namespace": "shop", "name": "orders", "uid": "u-1", "resourceVersion": "7" },
    })
}

/// Records `count` Events on a queue and delivers them to a server that answers its n-th request by `answer`.
async fn check(
    count: usize,
    limit: Duration,
    answer: impl FnMut(usize, &Seen) -> Answer + Send + 'static,
) -> Journal {
    check_counting(count, limit, answer).await.0
}

/// The same, and what was counted as lost, without the one that came too late.
async fn check_counting(
    count: usize,
    limit: Duration,
    mut answer: impl FnMut(usize, &Seen) -> Answer + Send + 'static,
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
        recorder.record(reference(&queue()), Tone::Normal, "Created", &format!("number {number}"));
    }
    events.finish(limit).await;
    let lost = lost(&metrics);
    recorder.record(reference(&queue()), Tone::Normal, "Late", "nobody is there any more");
    (journal, lost)
}

/// What was counted as lost.
fn lost(metrics: &Metrics) -> String {
    let text = metrics.text(Timestamp::UNIX_EPOCH);
    let mut lines: Vec<&str> =
        text.lines().filter(|line| line.starts_with("plimsoll_events_lost_total")).collect();
    lines.sort_unstable();
    lines.join("\n")
}

fn accept(seen: &Seen) -> Answer {
    Answer::Json(201, seen.body.clone())
}

/// The different Events that were sent.
fn names(journal: &Journal) -> BTreeSet<String> {
    journal.all().iter().map(|seen| seen.body["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_event_says_who_says_what_of_which_object() {
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
async fn passing_trouble_loses_and_doubles_nothing() {
    let trouble = |number: usize, seen: &Seen| match number % 5 {
        0 => refusal(503, "ServiceUnavailable"),
        1 => refusal(429, "TooManyRequests"),
        2 => Answer::Broken,
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
async fn what_is_refused_is_not_sent_again() {
    let (journal, lost) = check_counting(3, Duration::from_secs(60), |_, _| refusal(403, "Forbidden")).await;
    assert_eq!(journal.all().len(), 3);
    assert_eq!(lost, r#"plimsoll_events_lost_total{reason="refused"} 3"#);
}

#[tokio::test(start_paused = true)]
async fn every_event_that_is_lost_is_counted() {
    let hour = Duration::from_secs(3600);
    let (_, lost) = check_counting(3, hour, |_, _| refusal(503, "ServiceUnavailable")).await;
    assert_eq!(lost, r#"plimsoll_events_lost_total{reason="no-answer"} 3"#);
    // Eight are under way and the others wait when the operator ends.
    let (_, lost) = check_counting(20, Duration::from_secs(5), |_, _| Answer::Silence).await;
    assert_eq!(lost, r#"plimsoll_events_lost_total{reason="ending"} 20"#);
    let (_, lost) = check_counting(MOST_WAITING + 2, hour, |_, seen| accept(seen)).await;
    assert_eq!(lost, r#"plimsoll_events_lost_total{reason="too-many"} 2"#);
    let (_, lost) = check_counting(3, hour, |_, seen| accept(seen)).await;
    assert_eq!(lost, "");
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_the_end_is_counted_as_lost() {
    let (client, _) = client(accept);
    let metrics = Metrics::new();
    let events = Events::start(client, "pod-1", metrics.clone());
    events.finish(Duration::from_secs(5)).await;
    events.recorder("plimsoll").record(reference(&queue()), Tone::Normal, "Late", "");
    assert_eq!(lost(&metrics), r#"plimsoll_events_lost_total{reason="ending"} 1"#);
}

#[tokio::test(start_paused = true)]
async fn the_end_does_not_wait_for_ever() {
    let began = tokio::time::Instant::now();
    check(3, Duration::from_secs(5), |_, _| Answer::Silence).await;
    assert_eq!(began.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn an_event_of_an_object_without_namespace_is_in_default() {
    let (client, _) = client(accept);
    let recorder = Events::start(client, "pod-1", Metrics::new()).recorder("plimsoll");
    let object = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1" } });
    let event = recorder.event(reference(&object), Tone::Warning, "", "", Timestamp::UNIX_EPOCH, 1);
    assert_eq!(event.metadata.namespace.as_deref(), Some("default"));
    assert_eq!(event.involved_object.namespace, None);
    assert_eq!(event.type_.as_deref(), Some("Warning"));
}

#[test]
fn names_of_events_are_names() {
    let check = |object: &str, expected: &str| assert_eq!(name(object, 0xabc), expected);
    check("orders", "orders.0000000000000abc");
    check("system:Admin", "system--dmin.0000000000000abc");
    check("", "event.0000000000000abc");
    check("::", "event.0000000000000abc");
    assert_eq!(name(&"x".repeat(253), 1).len(), LONGEST_NAME);
}

#[test]
fn long_texts_are_cut_between_characters() {
    let check = |text: &str, limit: usize, expected: &str| assert_eq!(cut(text, limit), expected);
    check("short", 5, "short");
    check("longer", 5, "lo…");
    check("äöü", 5, "ä…");
    assert_eq!(cut(&"ä".repeat(1000), LONGEST_MESSAGE).len(), 1023);
}

#[tokio::test(start_paused = true)]
async fn a_controller_of_many_is_named_in_an_annotation() {
    let (client, journal) = client(accept);
    let events = Events::start(client, "pod-1", Metrics::new());
    let recorder = events.recorder("defined").of_controller("composite/xapps.example.org");
    recorder.record(reference(&queue()), Tone::Normal, "Created", "x");
    events.finish(Duration::from_secs(5)).await;
    let [seen] = &journal.all()[..] else { panic!("one event, one request") };
    assert_eq!(seen.body["metadata"]["annotations"], json!({"controller": "composite/xapps.example.org"}));
}

#[tokio::test(start_paused = true)]
async fn events_of_before_are_read_once_page_by_page_and_known_again() {
    let (client, journal) = client(|seen| {
        let event = |message: &str| {
            json!({
                "metadata": {"name": message, "namespace": "shop"}, "involvedObject": {"uid": "u-1"},
                "type": "Warning", "reason": "Failed", "message": message,
            })
        };
        let (more, event) =
            if seen.query.contains("continue=") { ("", event("second")) } else { ("more", event("first")) };
        Answer::Json(200, json!({"kind": "EventList", "metadata": {"continue": more}, "items": [event]}))
    });
    let events = Events::start(client, "pod-1", Metrics::new());
    let recorder = events.recorder("defined/xrds");
    let check = async |tone: Tone, reason: &str, message: &str, expected: bool| {
        let known = recorder.has_recorded(&reference(&queue()), tone, reason, message).await;
        assert_eq!(known, expected, "{tone:?} {reason} {message}");
    };
    check(Tone::Warning, "Failed", "first", true).await;
    check(Tone::Warning, "Failed", "second", true).await;
    check(Tone::Warning, "Failed", "third", false).await;
    check(Tone::Normal, "Failed", "first", false).await;
    assert_eq!(journal.count("GET /api/v1/events", "fieldSelector=source%3Ddefined%2Fxrds"), 2);
}

#[tokio::test(start_paused = true)]
async fn where_events_cannot_be_read_none_is_known() {
    let (client, journal) = client(|_| refusal(403, "Forbidden"));
    let events = Events::start(client, "pod-1", Metrics::new());
    for _ in 0..2 {
        let known = events.recorder("a").has_recorded(&reference(&queue()), Tone::Normal, "A", "b").await;
        assert!(!known);
    }
    assert_eq!(journal.count("GET /api/v1/events", ""), 1, "it is asked once");
}
