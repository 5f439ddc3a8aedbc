use oraclecloud_emulator::{Operation, Script, Timeline};
use serde_json::json;

use crate::*;

#[tokio::test]
async fn polls_advance_the_operations_of_a_stream() {
    let server = server(Script::default()).await;
    let client = client(&server);
    let created = stream_api(&client).create(&stream_body("clicks"), None, None).await.unwrap();
    assert_eq!((created.status, created.work_request_id.as_ref()), (200, None));
    let etag = created.etag.clone().unwrap();
    let body = created.body.unwrap();
    assert_eq!((&body["lifecycleState"], &body["retentionInHours"]), (&json!("CREATING"), &json!(24)));
    let id = text(&body["id"]);
    let states = async |polls: usize| {
        let mut states = Vec::new();
        for _ in 0..polls {
            states.push(text(&stream_api(&client).get(&id).await.unwrap().body["lifecycleState"]));
        }
        states
    };
    assert_eq!(states(4).await, ["CREATING", "CREATING", "CREATING", "ACTIVE"]);
    let tags = json!({"freeformTags": {"team": "web"}});
    let updated = stream_api(&client).update(&id, &tags, Some(&etag)).await.unwrap();
    assert_eq!(updated.body.unwrap()["lifecycleState"], json!("UPDATING"));
    assert_eq!(states(4).await, ["UPDATING", "UPDATING", "UPDATING", "ACTIVE"]);
    assert_eq!(
        rejection(stream_api(&client).delete(&id, Some(&etag)).await),
        (412, "NoEtagMatch".to_owned())
    );
    let stream = stream_api(&client).get(&id).await.unwrap();
    assert_eq!(stream.body["freeformTags"], json!({"team": "web"}));
    assert_eq!(
        stream.body["messagesEndpoint"],
        json!("https://cell-1.streaming.us-phoenix-1.oci.oraclecloud.com")
    );
    let deleted = stream_api(&client).delete(&id, stream.etag.as_deref()).await.unwrap();
    assert_eq!((deleted.status, deleted.body), (204, None));
    assert_eq!(states(5).await, ["DELETING", "DELETING", "DELETING", "DELETED", "DELETED"]);
    assert_eq!(rejection(stream_api(&client).get(&id).await), not_found());
}

#[tokio::test]
async fn reads_of_a_pending_stream_have_retry_after() {
    let server = server(Script::default()).await;
    let client = client(&server);
    let id = create_stream(&client, "clicks").await;
    assert_eq!(stream_api(&client).get(&id).await.unwrap().retry_after, Some(Duration::from_secs(2)));
}

#[tokio::test]
async fn a_stream_can_name_an_unreadable_work_request() {
    let server = server(Script { stream_work_requests: true, ..instant_script() }).await;
    let client = client(&server);
    let created = stream_api(&client).create(&stream_body("clicks"), None, None).await.unwrap();
    let work = created.work_request_id.unwrap();
    assert_eq!(rejection(queue_api(&client).work_request(&work).await), not_found());
    let id = text(&created.body.as_ref().unwrap()["id"]);
    stream_api(&client).get(&id).await.unwrap();
    assert!(stream_api(&client).delete(&id, None).await.unwrap().work_request_id.is_some());
}

#[tokio::test]
async fn a_create_sent_twice_creates_two_streams() {
    let server = server(instant_script()).await;
    let client = client(&server);
    assert_ne!(create_stream(&client, "clicks").await, create_stream(&client, "clicks").await);
    assert_eq!(server.journal().effects(Operation::CreateStream), 2);
}

#[tokio::test]
async fn a_new_stream_can_be_hidden_at_first() {
    let server =
        server(script_with(Operation::CreateStream, Timeline { hidden: 2, ..Timeline::default() })).await;
    let client = client(&server);
    let id = create_stream(&client, "clicks").await;
    let home = within(server.compartment());
    assert_eq!(stream_api(&client).list(&home).await.unwrap().body.len(), 0);
    assert_eq!(rejection(stream_api(&client).get(&id).await), not_found());
    assert_eq!(stream_api(&client).list(&home).await.unwrap().body.len(), 1);
}

#[tokio::test]
async fn changes_of_immutable_fields_are_rejected() {
    let server = server(instant_script()).await;
    let client = client(&server);
    let id = create_stream(&client, "clicks").await;
    stream_api(&client).get(&id).await.unwrap();
    for change in [json!({"name": "x"}), json!({"partitions": 3}), json!({"retentionInHours": 48})] {
        assert_eq!(
            rejection(stream_api(&client).update(&id, &change, None).await),
            (400, "InvalidParameter".to_owned())
        );
    }
    let moved = stream_api(&client).update(&id, &json!({"streamPoolId": "pool"}), None).await;
    assert!(moved.is_ok());
    stream_api(&client).get(&id).await.unwrap();
    assert_eq!(stream_api(&client).list(&in_pool("pool")).await.unwrap().body.len(), 1);
}

#[tokio::test]
async fn a_failed_create_leaves_a_failed_stream() {
    let server = server(script_with(Operation::CreateStream, failing("no partitions left"))).await;
    let client = client(&server);
    let id = create_stream(&client, "clicks").await;
    let stream = stream_api(&client).get(&id).await.unwrap().body;
    assert_eq!(stream["lifecycleState"], json!("FAILED"));
    assert_eq!(stream["lifecycleStateDetails"], json!("no partitions left"));
}
