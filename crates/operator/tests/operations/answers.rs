//! Bad responses and bad input: each sets a condition that explains it and is retried, so that a fix at the cloud is noticed
//! without a change of the object.

use futures::{StreamExt as _, stream};
use jiff::SignedDuration;
use oraclecloud_emulator::{Fault, FaultKind, Operation, Script, Timeline, TimelineStep};
use serde_json::json;

use super::bench::{Bench, at_home, condition, ocid, quick, text};

/// What goes wrong, what people read meanwhile, and what mends it.
struct Case {
    name: &'static str,
    wrong: fn(&Bench),
    /// The reason of `Stalled` or `Progressing`, and a part of the message; `None` if it does not stop the object.
    condition: Option<(&'static str, &'static str)>,
    mended: fn(&Bench),
}

/// A timeline whose only step before the end shows this.
fn showing(status: &str, percent: f32) -> Timeline {
    Timeline { steps: vec![TimelineStep { status: status.to_owned(), percent }; 3], ..Timeline::default() }
}

/// Whatever happens to these calls from now on, until it is mended.
fn befall(bench: &Bench, operation: Operation, mishap: FaultKind) {
    bench.server.faults().inject(Fault { operation, nth: 1, times: u32::MAX, kind: mishap });
}

fn no_mending(_: &Bench) {}

fn clear(bench: &Bench) {
    bench.server.faults().clear();
}

const CASES: &[Case] = &[
    Case {
        name: "unknown-status",
        wrong: |bench| bench.going(Operation::CreateQueue, None, showing("PONDERING", 10.0)),
        condition: Some(("Unknown", "is PONDERING")),
        mended: no_mending,
    },
    Case {
        name: "percent-140",
        wrong: |bench| bench.going(Operation::CreateQueue, None, showing("IN_PROGRESS", 140.0)),
        condition: None,
        mended: no_mending,
    },
    Case {
        name: "percent-nan",
        wrong: |bench| {
            let body = r#"{"id": "w", "status": "IN_PROGRESS", "percentComplete": NaN}"#;
            befall(bench, Operation::GetWorkRequest, FaultKind::Body(body.to_owned()));
        },
        condition: Some(("Retrying", "not JSON")),
        mended: clear,
    },
    Case {
        name: "another-queue",
        wrong: |bench| {
            let body = r#"{"id": "ocid1.queue.oc1..x", "lifecycleState": "ACTIVE"}"#;
            befall(bench, Operation::GetQueue, FaultKind::Body(body.to_owned()));
        },
        condition: Some(("Retrying", "the response to get is unreadable")),
        mended: clear,
    },
    Case {
        name: "truncated-json",
        wrong: |bench| befall(bench, Operation::GetWorkRequest, FaultKind::Truncate),
        condition: Some(("Retrying", "is truncated")),
        mended: clear,
    },
    Case {
        name: "html-page",
        wrong: |bench| befall(bench, Operation::GetWorkRequest, FaultKind::Html(502)),
        condition: Some(("Retrying", "text/html")),
        mended: clear,
    },
    Case {
        name: "html-as-success",
        wrong: |bench| befall(bench, Operation::GetQueue, FaultKind::Html(200)),
        condition: Some(("Retrying", "text/html")),
        mended: clear,
    },
    Case {
        name: "missing-headers",
        wrong: |bench| {
            let headers = ["opc-work-request-id", "opc-request-id", "etag", "retry-after"];
            let mishap = FaultKind::WithoutHeaders(headers.map(str::to_owned).to_vec());
            befall(bench, Operation::CreateQueue, mishap);
        },
        condition: None,
        mended: clear,
    },
    Case {
        name: "clock-skew",
        wrong: |bench| bench.server.clock().skew(SignedDuration::from_mins(12)),
        condition: Some(("AccessDenied", "min behind the server")),
        mended: |bench| bench.server.clock().skew(SignedDuration::ZERO),
    },
    Case {
        name: "spec-refused",
        wrong: |bench| {
            let mishap =
                FaultKind::Refuse { status: 400, code: "InvalidParameter".to_owned(), retry_after: None };
            befall(bench, Operation::CreateQueue, mishap);
        },
        condition: Some(("Rejected", "400 InvalidParameter")),
        mended: clear,
    },
    Case {
        name: "out-of-quota",
        wrong: |bench| {
            let mishap =
                FaultKind::Refuse { status: 400, code: "QuotaExceeded".to_owned(), retry_after: None };
            befall(bench, Operation::CreateQueue, mishap);
        },
        condition: Some(("Rejected", "QuotaExceeded")),
        mended: clear,
    },
    Case {
        name: "no-rights",
        wrong: |bench| bench.server.revoke(bench.server.compartment()),
        condition: Some(("AccessOrAbsenceUnclear", "NotAuthorizedOrNotFound")),
        mended: |bench| bench.server.grant(bench.server.compartment()),
    },
];

async fn check(case: &Case) {
    let bench = Bench::with("answers", Script::default(), quick(), at_home).await;
    (case.wrong)(&bench);
    let queue = bench.apply(&bench.queue(case.name, json!({}))).await;
    if let Some((reason, message)) = case.condition {
        bench
            .until(&queue, &format!("{}: {reason}, {message}", case.name), |queue| {
                ["Stalled", "Progressing"].iter().map(|kind| condition(queue, kind)).any(|condition| {
                    condition["status"] == "True"
                        && condition["reason"] == reason
                        && text(&condition["message"]).contains(message)
                })
            })
            .await;
    }
    (case.mended)(&bench);
    bench.until_ready(&queue).await;
    assert_eq!(bench.living().len(), 1, "{}", case.name);
}

#[tokio::test]
async fn bad_responses_are_reported_and_survived() {
    // A few at a time: a create that is not sent soon after it was put on record is not sent at all.
    stream::iter(CASES).for_each_concurrent(4, check).await;
}

#[tokio::test]
async fn the_same_display_name_twice_is_two_queues() {
    let bench = Bench::new("names").await;
    let first = bench.apply(&bench.queue("first", json!({"displayName": "orders"}))).await;
    let second = bench.apply(&bench.queue("second", json!({"displayName": "orders"}))).await;
    bench.until_ready(&first).await;
    bench.until_ready(&second).await;
    assert_eq!(bench.living().len(), 2);
    assert_eq!(bench.effects(Operation::CreateQueue), 2);
}

#[tokio::test]
async fn an_unknown_lifecycle_state_is_reported_and_polled_again() {
    let bench = Bench::new("states").await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let stream = bench.apply(&bench.stream("clicks", json!({}))).await;
    for object in [queue, stream] {
        let id = ocid(&bench.until_ready(&object).await);
        bench.edit(&id, json!({"lifecycleState": "SLUMBERING"}));
        let unknown = bench.until_stalled(&object, "Unknown").await;
        let message = text(&condition(&unknown, "Stalled")["message"]);
        assert!(message.contains("SLUMBERING"), "{message}");
        bench.edit(&id, json!({"lifecycleState": "ACTIVE"}));
        bench.until_ready(&object).await;
    }
}

#[tokio::test]
async fn two_objects_for_one_resource_do_not_fight_over_it() {
    let bench = Bench::new("one_id").await;
    let first = bench.apply(&bench.queue("first", json!({"visibilityInSeconds": 40}))).await;
    let id = ocid(&bench.until_ready(&first).await);
    let mut second = bench.queue("second", json!({"visibilityInSeconds": 50}));
    second["metadata"]["annotations"] = json!({"plimsoll.dev/adopt": id});
    let second = bench.apply(&second).await;
    // Another object's resource is not taken over silently.
    let held = bench.until_stalled(&second, "HeldByAnother").await;
    let owner = text(&bench.namespace.get(&first).await.unwrap()["metadata"]["uid"]);
    let message = text(&condition(&held, "Stalled")["message"]);
    assert!(message.contains(&format!("plimsoll.dev/adopt-from: {owner}")), "{message}");
    assert_eq!(bench.effects(Operation::UpdateQueue), 0);
    let from = json!({"metadata": {"annotations": {"plimsoll.dev/adopt-from": owner}}});
    bench.change(&second, &from).await;
    // The object whose annotation adopts it has it, and the other one names the owner.
    let taker = bench.until_ready(&second).await;
    let held = bench.until_stalled(&first, "HeldByAnother").await;
    let message = text(&condition(&held, "Stalled")["message"]);
    assert!(message.contains(&id) && message.contains(&text(&taker["metadata"]["uid"])), "{message}");
    assert_eq!(bench.effects(Operation::UpdateQueue), 1);
    bench.delete(&first);
    bench.until_gone(&first).await;
    assert_eq!(bench.living()[0]["visibilityInSeconds"], 50);
    assert_eq!(bench.effects(Operation::DeleteQueue), 0, "it is not the first one's to delete any more");
}
