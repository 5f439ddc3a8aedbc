//! Situations in which OSOK, the operator that this one replaces, leaves objects stuck, wrong or unowned.

use oraclecloud_emulator::{Fault, FaultKind, Operation, Script, Timeline};
use serde_json::{Value, json};

use super::bench::{Bench, at_home, client, condition, failing, ocid, queues, quick, shared_types, text};

fn refuse(status: u16, code: &str) -> FaultKind {
    FaultKind::Refuse { status, code: code.to_owned(), retry_after: None }
}

#[tokio::test]
async fn a_503_during_a_poll_does_not_park_the_object() {
    let bench = Bench::new("f01").await;
    bench.server.faults().inject(Fault {
        operation: Operation::GetWorkRequest,
        nth: 1,
        times: 2,
        kind: refuse(503, "ServiceUnavailable"),
    });
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let retrying = bench
        .until(&queue, "retrying", |queue| condition(queue, "Progressing")["reason"] == "Retrying")
        .await;
    let current = &retrying["status"]["status"]["async"]["current"];
    assert_eq!((&current["phase"], &current["normalizedClass"]), (&json!("create"), &json!("pending")));
    assert_eq!(condition(&retrying, "Stalled")["status"], "False");
    let message = text(&condition(&retrying, "Progressing")["message"]);
    assert!(message.contains("503 ServiceUnavailable"), "{message}");
    let ready = bench.until_ready(&queue).await;
    assert!(!shared_types(&ready).contains(&"Failed".to_owned()), "{ready}");
    assert_eq!(bench.effects(Operation::CreateQueue), 1);
}

#[tokio::test]
async fn a_404_alone_proves_nothing_and_a_deleted_resource_is_created_again() {
    let bench = Bench::new("f02").await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let first = ocid(&bench.until_ready(&queue).await);

    // Gone for certain: readable compartment, listing without it, longer than the grace.
    assert!(bench.server.remove(&first));
    let again = bench.until(&queue, "made anew", |queue| queue["status"]["status"]["ocid"] != json!(first));
    again.await;
    let second = ocid(&bench.until_ready(&queue).await);
    assert_ne!(first, second);

    // A revoked policy looks the same, and proves nothing.
    bench.server.revoke(bench.server.compartment());
    bench.delete(&queue);
    let unclear = bench.until_stalled(&queue, "AccessOrAbsenceUnclear").await;
    let message = text(&condition(&unclear, "Stalled")["message"]);
    let way_out = format!("plimsoll.dev/release: {}", text(&unclear["metadata"]["uid"]));
    assert!(message.contains(&way_out), "{message}");
    assert_eq!(unclear["metadata"]["finalizers"][0], operator::operations::FINALIZER);
    assert_eq!(bench.effects(Operation::DeleteQueue), 0);

    bench.server.grant(bench.server.compartment());
    bench.until_gone(&queue).await;
    assert_eq!(bench.effects(Operation::DeleteQueue), 1);
    assert_eq!(bench.living(), Vec::<Value>::new());
}

#[tokio::test]
async fn conditions_do_not_pile_up_and_are_true() {
    let bench = Bench::new("f03").await;
    let steps = Timeline::default().steps.into_iter().cycle().take(10).collect();
    bench.going(Operation::CreateQueue, None, Timeline { steps, ..Timeline::default() });
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    bench.until_ready(&queue).await;
    bench.change(&queue, &json!({"spec": {"visibilityInSeconds": 45}})).await;
    let updating =
        bench.until(&queue, "updating", |queue| queue["status"]["status"]["reason"] == "Updating").await;
    assert_eq!(shared_types(&updating), ["Provisioning", "Active", "Updating"]);
    assert_eq!(condition(&updating, "Ready")["status"], "True", "it can be used meanwhile");
    assert_eq!(condition(&updating, "Ready")["observedGeneration"], 1, "as it was");
    let ready = bench.until_ready(&queue).await;
    assert_eq!(shared_types(&ready), ["Provisioning", "Updating", "Active"]);
    assert_eq!(ready["status"]["status"]["reason"], "Active");
    assert_eq!(ready["status"]["observedGeneration"], 2);
    let types: Vec<&Value> =
        ready["status"]["conditions"].as_array().unwrap().iter().map(|it| &it["type"]).collect();
    assert_eq!(types, ["Ready", "Progressing", "Stalled"]);
    bench
        .namespace
        .kubectl(&["wait", "--for=condition=Ready", "--timeout=30s", "queue.queue.oracle.com/orders"])
        .unwrap();
}

#[tokio::test]
async fn a_failed_work_request_is_released_and_its_cause_reported() {
    let mut settings = quick();
    // Only a new spec can be what brings the next attempt.
    settings.slow_retry = std::time::Duration::from_secs(600);
    let bench = Bench::with("f04", Script::default(), settings, at_home).await;
    bench.going(Operation::CreateQueue, Some(1), failing("no room in this region"));
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let failed = bench.until_stalled(&queue, "Failed").await;
    let message = text(&condition(&failed, "Stalled")["message"]);
    assert!(message.contains("OutOfCapacity: no room in this region"), "{message}");
    let tracker = &failed["status"]["status"]["async"];
    assert_eq!(
        (tracker.get("current"), &tracker["lastOperation"]["normalizedClass"]),
        (None, &json!("failed"))
    );
    bench.change(&queue, &json!({"spec": {"visibilityInSeconds": 45}})).await;
    bench.until_ready(&queue).await;
    let tokens: Vec<Option<String>> = bench
        .server
        .journal()
        .entries()
        .into_iter()
        .filter(|entry| entry.operation == Some(Operation::CreateQueue) && entry.effect)
        .map(|entry| entry.retry_token)
        .collect();
    assert_eq!(tokens.len(), 2);
    assert_ne!(tokens[0], tokens[1]);
    assert_eq!(bench.living().len(), 1, "what the failed create left behind is gone");
}

#[tokio::test]
async fn a_failed_delete_is_retried() {
    let bench = Bench::new("f04d").await;
    bench.going(Operation::DeleteQueue, Some(1), failing("still in use"));
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    bench.until_ready(&queue).await;
    bench.delete(&queue);
    let failed = bench.until_stalled(&queue, "Failed").await;
    assert!(text(&condition(&failed, "Stalled")["message"]).contains("still in use"), "{failed}");
    bench.until_gone(&queue).await;
    assert_eq!(bench.effects(Operation::DeleteQueue), 2);
    assert_eq!(bench.living(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_resource_in_a_transitional_state_is_progressing() {
    let bench = Bench::new("f05").await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let moving = bench
        .until(&queue, "in progress", |queue| {
            queue["status"]["status"]["async"]["current"]["rawStatus"] == "IN_PROGRESS"
        })
        .await;
    let current = &moving["status"]["status"]["async"]["current"];
    assert_eq!(
        (&current["normalizedClass"], &current["rawOperationType"]),
        (&json!("pending"), &json!("CREATE_QUEUE"))
    );
    assert_eq!(current["workRequestId"], moving["status"]["createWorkRequestId"]);
    let ready = bench.until_ready(&queue).await;
    assert_eq!(shared_types(&ready), ["Provisioning", "Active"]);
}

#[tokio::test]
async fn omitted_fields_are_left_alone() {
    let tags = json!({"finance": {"owner": "jane"}});
    let script = Script { tag_defaults: tags.as_object().unwrap().clone(), ..Script::default() };
    let bench = Bench::with("f06", script, quick(), at_home).await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let id = ocid(&bench.until_ready(&queue).await);
    bench.edit(&id, json!({"visibilityInSeconds": 77}));
    bench.another_look(&queue, Operation::GetQueue).await;
    assert_eq!(bench.server.journal().count(Operation::UpdateQueue), 0);
    let shown = &bench.living()[0];
    assert_eq!(shown["visibilityInSeconds"], 77);
    assert_eq!(shown["definedTags"], tags);
    // What is there counts, zero included, and nothing but that is sent.
    bench.change(&queue, &json!({"spec": {"visibilityInSeconds": 0}})).await;
    bench.until_ready(&queue).await;
    let shown = &bench.living()[0];
    assert_eq!((&shown["visibilityInSeconds"], &shown["timeoutInSeconds"]), (&json!(0), &json!(30)));
    assert_eq!(shown["definedTags"], tags);
}

#[tokio::test]
async fn a_delete_during_a_create_leaves_no_orphan() {
    let bench = Bench::new("f07").await;
    bench.going(Operation::CreateQueue, None, Timeline { hidden: 2, ..Timeline::default() });
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    bench
        .until(&queue, "create in flight", |queue| {
            queue["status"]["status"]["async"]["current"]["workRequestId"].is_string()
        })
        .await;
    bench.delete(&queue);
    bench.until_gone(&queue).await;
    assert_eq!((bench.effects(Operation::CreateQueue), bench.effects(Operation::DeleteQueue)), (1, 1));
    assert_eq!(bench.living(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_matching_name_is_not_ownership() {
    let bench = Bench::new("f08").await;
    let theirs = json!({"displayName": "orders", "compartmentId": bench.server.compartment()});
    queues(&client(&bench.server)).create(&theirs, None, None).await.unwrap();
    let queue = bench.apply(&bench.queue("orders", json!({"visibilityInSeconds": 45}))).await;
    bench.until_ready(&queue).await;
    assert_eq!(bench.living().len(), 2, "not bound to the other of the same name");
    bench.delete(&queue);
    bench.until_gone(&queue).await;
    let left = bench.living();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0]["freeformTags"].get("plimsoll-uid"), None, "theirs stays");
    assert_eq!(left[0]["visibilityInSeconds"], 30, "and was not changed");
}

#[tokio::test]
async fn a_resource_that_is_updating_shows_an_update() {
    let bench = Bench::new("f09").await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let id = ocid(&bench.until_ready(&queue).await);
    bench.edit(&id, json!({"lifecycleState": "UPDATING"}));
    let updating =
        bench.until(&queue, "updating", |queue| queue["status"]["status"]["reason"] == "Updating").await;
    let current = &updating["status"]["status"]["async"]["current"];
    assert_eq!((&current["phase"], &current["source"]), (&json!("update"), &json!("lifecycle")));
    assert_eq!(condition(&updating, "Ready")["status"], "True");
    bench.edit(&id, json!({"lifecycleState": "ACTIVE"}));
    bench.until_ready(&queue).await;
    assert_eq!(bench.server.journal().count(Operation::CreateQueue), 1);
}

#[tokio::test]
async fn deleted_by_others_is_recreated_or_reported_and_no_state_is_unmodelled() {
    let bench = Bench::new("f10").await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let first = ocid(&bench.until_ready(&queue).await);
    bench.edit(&first, json!({"lifecycleState": "INACTIVE"}));
    bench.until_stalled(&queue, "Attention").await;
    bench.edit(&first, json!({"lifecycleState": "ACTIVE"}));
    bench.until_ready(&queue).await;
    bench.edit(&first, json!({"lifecycleState": "FAILED"}));
    bench.until_stalled(&queue, "Failed").await;
    bench.edit(&first, json!({"lifecycleState": "ACTIVE"}));
    bench.until_ready(&queue).await;

    bench.edit(&first, json!({"lifecycleState": "DELETED"}));
    bench.until(&queue, "made anew", |queue| queue["status"]["status"]["ocid"] != json!(first)).await;
    let second = ocid(&bench.until_ready(&queue).await);
    let report = json!({"metadata": {"annotations": {"plimsoll.dev/on-missing": "Report"}}});
    bench.change(&queue, &report).await;
    bench.edit(&second, json!({"lifecycleState": "DELETED"}));
    let missing = bench.until_stalled(&queue, "Missing").await;
    let message = text(&condition(&missing, "Stalled")["message"]);
    assert!(message.contains(&second) && message.contains("plimsoll.dev/on-missing: Recreate"), "{message}");
    assert_eq!(bench.effects(Operation::CreateQueue), 2);
    bench
        .change(&queue, &json!({"metadata": {"annotations": {"plimsoll.dev/on-missing": "Recreate"}}}))
        .await;
    bench.until_ready(&queue).await;
    assert_eq!(bench.effects(Operation::CreateQueue), 3);
    assert_eq!(bench.effects(Operation::DeleteQueue), 0, "what is gone is not deleted");
}
