use std::time::Duration;

use oraclecloud_emulator::{Operation, Outcome, Pace, Script, Timeline, TimelineStep};
use serde_json::{Map, Value, json};

use crate::*;

/// Polls a work request; returns what it reports each time.
async fn poll(client: &Client, work: &str, polls: usize) -> Vec<String> {
    let mut seen = Vec::new();
    for _ in 0..polls {
        let shown = queue_api(client).work_request(work).await.unwrap();
        let body = &shown.body;
        seen.push(format!(
            "{} {} {} retry-after {:?}",
            text(&body["status"]),
            body["percentComplete"],
            text(&body["resources"][0]["actionType"]),
            shown.retry_after.map(|pause| pause.as_secs()),
        ));
    }
    seen
}

#[tokio::test]
async fn polls_advance_a_create() {
    let server = server(Script::default()).await;
    let client = client(&server);
    let accepted = queue_api(&client).create(&queue_body("orders"), Some("t1"), None).await.unwrap();
    assert_eq!((accepted.status, &accepted.body), (202, &None));
    assert_eq!(accepted.request_id.as_deref().map(|id| id.split('/').count()), Some(3));
    let work = accepted.work_request_id.unwrap();
    insta::assert_snapshot!(poll(&client, &work, 5).await.join("\n"), @r"
    ACCEPTED 0.0 IN_PROGRESS retry-after Some(2)
    IN_PROGRESS 30.0 IN_PROGRESS retry-after Some(2)
    IN_PROGRESS 70.0 IN_PROGRESS retry-after Some(2)
    SUCCEEDED 100.0 CREATED retry-after None
    SUCCEEDED 100.0 CREATED retry-after None
    ");
    let shown = queue_api(&client).work_request(&work).await.unwrap().body;
    let id = text(&shown["resources"][0]["identifier"]);
    let queue = queue_api(&client).get(&id).await.unwrap();
    assert!(queue.etag.is_some());
    let mut queue = queue.body;
    for time in ["timeCreated", "timeUpdated"] {
        assert!(queue[time].as_str().is_some_and(|time| time.parse::<jiff::Timestamp>().is_ok()));
        queue.as_object_mut().unwrap().remove(time);
    }
    assert_eq!(
        queue,
        json!({
            "id": id,
            "displayName": "orders",
            "compartmentId": oraclecloud_emulator::COMPARTMENT,
            "lifecycleState": "ACTIVE",
            "messagesEndpoint": "https://cell-1.queue.messaging.us-phoenix-1.oci.oraclecloud.com",
            "retentionInSeconds": 86_400,
            "visibilityInSeconds": 30,
            "timeoutInSeconds": 30,
            "deadLetterQueueDeliveryCount": 5,
            "channelConsumptionLimit": 100,
            "freeformTags": {},
            "definedTags": {},
        })
    );
}

#[tokio::test]
async fn a_queue_advances_with_its_work_request() {
    let server = server(Script::default()).await;
    let client = client(&server);
    let (id, work) = create_queue(&client, "orders").await;
    let state = async || text(&queue_api(&client).get(&id).await.unwrap().body["lifecycleState"]);
    assert_eq!(state().await, "CREATING");
    assert_eq!(poll(&client, &work, 1).await, ["IN_PROGRESS 70.0 IN_PROGRESS retry-after Some(2)"]);
    assert_eq!(state().await, "ACTIVE", "reading the queue advances it as well");
    queue_api(&client).delete(&id, None).await.unwrap();
    let mut states = Vec::new();
    for _ in 0..5 {
        states.push(state().await);
    }
    assert_eq!(states, ["DELETING", "DELETING", "DELETING", "DELETED", "DELETED"]);
    assert_eq!(rejection(queue_api(&client).get(&id).await), not_found());
}

#[tokio::test]
async fn time_advances_operations_without_polls() {
    let pace = Pace::StepMillis(3_600_000);
    let server = server(Script { pace, ..Script::default() }).await;
    let client = client(&server);
    let (_, work) = create_queue(&client, "orders").await;
    let status = async || poll(&client, &work, 2).await;
    let accepted = "ACCEPTED 0.0 IN_PROGRESS retry-after Some(2)";
    assert_eq!(status().await, [accepted, accepted]);
    server.clock().advance(Duration::from_secs(3_600));
    assert!(status().await[1].starts_with("IN_PROGRESS 30.0"));
    server.clock().advance(Duration::from_secs(7_200));
    assert!(status().await[1].starts_with("SUCCEEDED 100.0"));
}

#[tokio::test]
async fn an_update_changes_only_the_fields_it_names() {
    let server = server(instant_script()).await;
    let client = client(&server);
    let (id, _) = create_queue(&client, "orders").await;
    let before = queue_api(&client).get(&id).await.unwrap();
    let change =
        json!({"visibilityInSeconds": 0, "customEncryptionKeyId": "key", "freeformTags": {"a": "b"}});
    let accepted = queue_api(&client).update(&id, &change, before.etag.as_deref()).await.unwrap();
    assert!(accepted.work_request_id.is_some());
    let after = queue_api(&client).get(&id).await.unwrap();
    assert_ne!(before.etag, after.etag);
    for (name, value) in [
        ("visibilityInSeconds", json!(0)),
        ("customEncryptionKeyId", json!("key")),
        ("timeoutInSeconds", json!(30)),
    ] {
        assert_eq!(after.body[name], value, "{name}");
    }
    queue_api(&client).update(&id, &json!({"customEncryptionKeyId": ""}), None).await.unwrap();
    let after = queue_api(&client).get(&id).await.unwrap().body;
    assert_eq!(after.get("customEncryptionKeyId"), None);
    assert_eq!(after["freeformTags"], json!({"a": "b"}));
}

#[tokio::test]
async fn an_outdated_etag_is_rejected() {
    let server = server(instant_script()).await;
    let client = client(&server);
    let (id, _) = create_queue(&client, "orders").await;
    let old = queue_api(&client).get(&id).await.unwrap().etag;
    queue_api(&client).update(&id, &json!({"visibilityInSeconds": 1}), old.as_deref()).await.unwrap();
    let expected = (412, "NoEtagMatch".to_owned());
    let queues = queue_api(&client);
    assert_eq!(
        rejection(queues.update(&id, &json!({"visibilityInSeconds": 2}), old.as_deref()).await),
        expected
    );
    assert_eq!(rejection(queues.delete(&id, old.as_deref()).await), expected);
    let moved = queues.update(&id, &json!({"compartmentId": "other"}), old.as_deref()).await;
    assert_eq!(rejection(moved), expected);
    assert_eq!(server.journal().effects(Operation::DeleteQueue), 0);
    assert_eq!(queues.get(&id).await.unwrap().body["visibilityInSeconds"], json!(1));
}

#[tokio::test]
async fn a_busy_queue_rejects_changes() {
    let server = server(Script::default()).await;
    let client = client(&server);
    let (id, _) = create_queue(&client, "orders").await;
    let expected = (409, "IncorrectState".to_owned());
    let queues = queue_api(&client);
    assert_eq!(rejection(queues.update(&id, &json!({"visibilityInSeconds": 2}), None).await), expected);
    assert_eq!(rejection(queues.delete(&id, None).await), expected);
    assert_eq!(rejection(queues.update(&id, &json!({"compartmentId": "other"}), None).await), expected);
}

#[tokio::test]
async fn a_token_creates_one_queue() {
    let server = server(instant_script()).await;
    let client = client(&server);
    let queues = queue_api(&client);
    let spent = (409, "InvalidatedRetryToken".to_owned());
    let first = queues.create(&queue_body("orders"), Some("t"), None).await.unwrap();
    let again = queues.create(&queue_body("orders"), Some("t"), None).await.unwrap();
    assert_eq!(first.work_request_id, again.work_request_id);
    assert_eq!(server.resources().len(), 1);
    assert_eq!(rejection(queues.create(&queue_body("others"), Some("t"), None).await), spent, "another body");
    let long = "t".repeat(65);
    let refused = rejection(queues.create(&queue_body("orders"), Some(&long), None).await);
    assert_eq!(refused, (400, "InvalidParameter".to_owned()), "a token that is too long");
    queues.create(&queue_body("orders"), Some("u"), None).await.unwrap();
    queues.create(&queue_body("orders"), None, None).await.unwrap();
    assert_eq!(server.resources().len(), 3, "names need not be unique");
    assert_eq!(server.journal().count(Operation::CreateQueue), 6);
    assert_eq!(server.journal().effects(Operation::CreateQueue), 3);

    let shown = queues.work_request(&first.work_request_id.unwrap()).await.unwrap().body;
    let id = text(&shown["resources"][0]["identifier"]);
    queues.delete(&id, None).await.unwrap();
    assert_eq!(text(&queues.get(&id).await.unwrap().body["lifecycleState"]), "DELETED");
    assert_eq!(
        rejection(queues.create(&queue_body("orders"), Some("t"), None).await),
        spent,
        "a deleted queue"
    );
    server.clock().advance(Duration::from_secs(24 * 3_600));
    assert!(
        queues.create(&queue_body("orders"), Some("t"), None).await.is_ok(),
        "the token expires after a day"
    );
}

#[tokio::test]
async fn a_failed_work_request_has_errors_and_logs() {
    let server = server(script_with(Operation::CreateQueue, failing("no room\n in this region"))).await;
    let client = client(&server);
    let (id, work) = create_queue(&client, "orders").await;
    assert!(poll(&client, &work, 1).await[0].starts_with("FAILED 100.0 IN_PROGRESS"));
    let errors = queue_api(&client).work_request_errors(&work).await.unwrap().body;
    assert_eq!(errors, ["OutOfCapacity: no room in this region"]);
    let logs = queue_api(&client).work_request_logs(&work).await.unwrap().body;
    assert_eq!(logs, ["CREATE_QUEUE accepted", "CREATE_QUEUE failed"]);
    let left = queue_api(&client).get(&id).await.unwrap().body;
    assert_eq!(
        (text(&left["lifecycleState"]), text(&left["lifecycleDetails"])),
        ("FAILED".into(), "no room\n in this region".into())
    );
    assert!(queue_api(&client).delete(&id, None).await.is_ok(), "a failed queue can be deleted");
}

#[tokio::test]
async fn a_failed_or_endless_operation_leaves_the_queue_unchanged() {
    let server = server(instant_script()).await;
    let client = client(&server);
    let (id, _) = create_queue(&client, "orders").await;
    let once = |operation, timeline| TimelineRule {
        operation,
        name: Some("orders".into()),
        times: Some(1),
        timeline,
    };
    server.set_timeline(once(Operation::UpdateQueue, failing("no")));
    server.set_timeline(once(Operation::DeleteQueue, Timeline { outcome: Outcome::Cancel, ..instant() }));
    let update = queue_api(&client).update(&id, &json!({"visibilityInSeconds": 9}), None).await.unwrap();
    assert!(poll(&client, &update.work_request_id.unwrap(), 1).await[0].starts_with("FAILED"));
    let delete = queue_api(&client).delete(&id, None).await.unwrap();
    assert!(poll(&client, &delete.work_request_id.unwrap(), 1).await[0].starts_with("CANCELED"));
    let queue = queue_api(&client).get(&id).await.unwrap().body;
    assert_eq!(
        (text(&queue["lifecycleState"]), &queue["visibilityInSeconds"]),
        ("ACTIVE".into(), &json!(30))
    );

    let odd = TimelineStep { status: "REVIEWING".to_owned(), percent: 140.0 };
    server.set_timeline(once(
        Operation::DeleteQueue,
        Timeline { steps: vec![odd], outcome: Outcome::Never, ..instant() },
    ));
    let delete = queue_api(&client).delete(&id, None).await.unwrap();
    let seen = poll(&client, &delete.work_request_id.unwrap(), 9).await;
    assert_eq!(seen.last().unwrap(), "REVIEWING 140.0 IN_PROGRESS retry-after Some(2)");
}

#[tokio::test]
async fn reads_can_lag_behind_the_work_request() {
    let server = server(script_with(Operation::CreateQueue, Timeline { hidden: 2, ..instant() })).await;
    let client = client(&server);
    let (id, _) = create_queue(&client, "orders").await;
    assert_eq!(server.resources().len(), 1, "it exists nevertheless");
    assert_eq!(rejection(queue_api(&client).get(&id).await), not_found());
    assert_eq!(
        queue_api(&client).list(&within(server.compartment())).await.unwrap().body,
        Vec::<Value>::new()
    );
    assert_eq!(text(&queue_api(&client).get(&id).await.unwrap().body["lifecycleState"]), "ACTIVE");
    assert_eq!(queue_api(&client).list(&within(server.compartment())).await.unwrap().body.len(), 1);
}

#[tokio::test]
async fn revoked_access_looks_like_missing_resources() {
    let server = server(instant_script()).await;
    let client = client(&server);
    let queues = queue_api(&client);
    let (id, work) = create_queue(&client, "orders").await;
    let compartment = server.compartment();
    server.revoke(compartment);
    assert_eq!(rejection(queues.get(&id).await), not_found());
    assert_eq!(rejection(queues.list(&within(compartment)).await), not_found());
    assert_eq!(rejection(queues.create(&queue_body("x"), None, None).await), not_found());
    assert_eq!(rejection(queues.update(&id, &json!({}), None).await), not_found());
    assert_eq!(rejection(queues.delete(&id, None).await), not_found());
    assert_eq!(rejection(queues.work_request(&work).await), not_found());
    assert_eq!(rejection(queues.work_requests(compartment).await), not_found());
    assert_eq!(rejection(queues.work_request_errors(&work).await), not_found());
    server.grant(compartment);
    assert!(queues.get(&id).await.is_ok());
}

#[tokio::test]
async fn a_queue_can_be_moved() {
    let server = server(instant_script()).await;
    let client = client(&server);
    let (id, _) = create_queue(&client, "orders").await;
    let queues = queue_api(&client);
    let moved = queues.update(&id, &json!({"compartmentId": "elsewhere"}), None).await.unwrap();
    assert_eq!(queues.get(&id).await.unwrap().body["compartmentId"], json!("elsewhere"));
    let work = queues.work_request(&moved.work_request_id.unwrap()).await.unwrap().body;
    assert_eq!(work["operationType"], json!("MOVE_QUEUE"));
}

#[tokio::test]
async fn the_error_for_an_invalid_spec_explains_it() {
    let server = server(Script::default()).await;
    let client = client(&server);
    let mut body = queue_body("orders");
    body["retentionInSeconds"] = json!(1);
    let error = queue_api(&client).create(&body, None, None).await.unwrap_err();
    let message = error.to_string();
    let (front, _) = message.split_once(" (request ").unwrap();
    assert_eq!(
        front,
        "CreateQueue: 400 InvalidParameter: retentionInSeconds must be a whole number from 10 to 604800."
    );
    assert_eq!(server.journal().effects(Operation::CreateQueue), 0);
}

#[tokio::test]
async fn capabilities_are_returned_by_type_only_and_default_tags_are_added() {
    let tag_defaults = json!({"Oracle-Tags": {"CreatedBy": "jane"}}).as_object().unwrap().clone();
    let server = server(Script { tag_defaults, ..instant_script() }).await;
    let client = client(&server);
    let mut body = queue_body("orders");
    body["capabilities"] = json!([{"type": "CONSUMER_GROUPS", "isPrimaryConsumerGroupEnabled": true}]);
    queue_api(&client).create(&body, None, None).await.unwrap();
    let summary = queue_api(&client).list(&within(server.compartment())).await.unwrap().body[0].clone();
    assert_eq!(summary["capabilities"], json!(["CONSUMER_GROUPS"]));
    assert_eq!(summary.get("visibilityInSeconds"), None);
    let queue = queue_api(&client).get(&text(&summary["id"])).await.unwrap().body;
    assert_eq!(queue["capabilities"], json!([{"type": "CONSUMER_GROUPS"}]));
    assert_eq!(queue["definedTags"], json!({"Oracle-Tags": {"CreatedBy": "jane"}}));
}

#[tokio::test]
async fn resources_can_be_changed_without_a_request() {
    let server = server(instant_script()).await;
    let client = client(&server);
    let (id, _) = create_queue(&client, "orders").await;
    let before = queue_api(&client).get(&id).await.unwrap().etag;
    let change = Map::from_iter([
        ("lifecycleState".to_owned(), json!("INACTIVE")),
        ("displayName".to_owned(), json!("x")),
    ]);
    assert!(server.edit(&id, &change));
    let after = queue_api(&client).get(&id).await.unwrap();
    assert_eq!(
        (&after.body["lifecycleState"], &after.body["displayName"]),
        (&json!("INACTIVE"), &json!("x"))
    );
    assert_ne!(before, after.etag);
    assert!(server.remove(&id) && !server.remove(&id) && !server.edit(&id, &change));
    assert_eq!(rejection(queue_api(&client).get(&id).await), not_found());
}

#[tokio::test]
async fn identifiers_are_the_same_for_the_same_seed() {
    let ids = async || {
        let server = server(instant_script()).await;
        let client = client(&server);
        create_queue(&client, "orders").await
    };
    assert_eq!(ids().await, ids().await);
}
