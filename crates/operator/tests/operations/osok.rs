//! Objects that the OCI Service Operator left: with an operation in flight, with one that failed, with nothing but an
//! identifier. They change hands as they are.

use oraclecloud_emulator::Operation;
use serde_json::{Value, json};

use super::bench::{Bench, client, condition, ocid, queues, shared_types, text};

/// An object as the other operator left it; it is not touched before its status is there.
async fn left(bench: &Bench, fields: Value, status: Value) -> Value {
    let mut queue = bench.queue("orders", fields);
    queue["metadata"]["annotations"] = json!({"plimsoll.dev/paused": "true"});
    queue["metadata"]["finalizers"] = json!(["finalizers.oci.oracle.com/oci-resources"]);
    bench.apply(&queue).await;
    let patch = json!({"status": status}).to_string();
    let arguments = ["patch", "queue", "orders", "--subresource=status", "--type=merge", "--patch", &patch];
    bench.namespace.kubectl(&arguments).unwrap();
    bench.change(&queue, &json!({"metadata": {"annotations": {"plimsoll.dev/paused": null}}})).await
}

/// Creates a queue as the other operator did, without our tag; its work request.
async fn created(bench: &Bench, name: &str) -> String {
    let body = json!({"displayName": name, "compartmentId": bench.server.compartment()});
    let accepted =
        queues(&client(&bench.server)).create(&body, Some("uid-of-the-object"), None).await.unwrap();
    accepted.work_request_id.unwrap()
}

fn condition_of(kind: &str, status: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "message": message, "lastTransitionTime": "2026-01-02T03:04:05Z"})
}

#[tokio::test]
async fn a_create_in_flight_is_followed_from_the_mirror_alone() {
    let bench = Bench::new("mirror").await;
    let work_request = created(&bench, "orders").await;
    let shared = json!({
        "reason": "Provisioning", "message": "OCI create is in progress", "async": {},
        "conditions": [condition_of("Provisioning", "True", "OCI create is in progress")],
    });
    let status = json!({"createWorkRequestId": work_request, "status": shared});
    let queue = left(&bench, json!({}), status).await;
    let ready = bench.until_ready(&queue).await;
    assert_eq!(ocid(&ready), text(&bench.living()[0]["id"]));
    assert_eq!(bench.server.journal().count(Operation::CreateQueue), 1, "nothing is made a second time");
    assert_eq!(shared_types(&ready), ["Provisioning", "Active"]);
    assert_eq!(ready["status"].get("createWorkRequestId"), None, "the mirror goes with the operation");
    let last = &ready["status"]["status"]["async"]["lastOperation"];
    assert_eq!((&last["phase"], &last["workRequestId"]), (&json!("create"), &json!(work_request)));
}

#[tokio::test]
async fn a_failed_tracker_and_a_pile_of_conditions_do_not_pin_the_object() {
    let bench = Bench::new("pinned").await;
    let tracker = json!({
        "source": "workrequest", "phase": "create", "workRequestId": "ocid1.queueworkrequest.oc1.phx.dead",
        "rawStatus": "FAILED", "normalizedClass": "failed", "updatedAt": "2026-01-02T03:04:05Z",
    });
    let shared = json!({
        "reason": "Failed", "async": {"current": tracker},
        "conditions": [
            condition_of("Provisioning", "True", "10 %"), condition_of("Provisioning", "True", "20 %"),
            condition_of("Failed", "False", "one"), condition_of("Failed", "False", "another"),
        ],
    });
    let status = json!({"createWorkRequestId": "ocid1.queueworkrequest.oc1.phx.dead", "status": shared});
    let queue = left(&bench, json!({}), status).await;
    let ready = bench.until_ready(&queue).await;
    assert_eq!(bench.living().len(), 1);
    let mut types = shared_types(&ready);
    assert_eq!(types.pop().as_deref(), Some("Active"), "the current one is last");
    types.sort_unstable();
    types.dedup();
    assert_eq!(types.len(), shared_types(&ready).len() - 1, "one entry for each type");
    assert_eq!(condition(&ready, "Stalled")["status"], "False");
}

#[tokio::test]
async fn a_queue_without_our_tag_is_owned_by_its_identifier_updated_and_deleted() {
    let bench = Bench::new("untagged").await;
    let work_request = created(&bench, "orders").await;
    let client = client(&bench.server);
    let queues = queues(&client);
    while queues.work_request(&work_request).await.unwrap().body["status"] != "SUCCEEDED" {}
    let id = text(&bench.living()[0]["id"]);
    let active = condition_of("Active", "True", "orders");
    let shared = json!({"reason": "Active", "ocid": id, "async": {}, "conditions": [active]});
    let queue = left(&bench, json!({"visibilityInSeconds": 50}), json!({"id": id, "status": shared})).await;
    let ready = bench.until_ready(&queue).await;
    assert_eq!(ocid(&ready), id);
    assert_eq!(bench.living()[0]["visibilityInSeconds"], 50, "what the spec says by now is applied");
    assert_eq!(bench.server.journal().count(Operation::CreateQueue), 1);
    bench.delete(&queue);
    bench.until_gone(&queue).await;
    assert_eq!(bench.living(), Vec::<Value>::new());
}
