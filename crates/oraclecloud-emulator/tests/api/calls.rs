use jiff::{SignedDuration, Timestamp};
use operations::{Body, Call, CallErrorKind, OWNER_TAG, Response, Strategy, WorkRequest, WorkRequestTypes};
use oraclecloud_emulator::{FaultKind, Operation, Script};
use serde_json::{Value, json};

use crate::*;

const UID: &str = "11111111-2222-3333-4444-555555555555";

fn tagged(mut body: Value, uid: &str) -> Value {
    body["freeformTags"] = json!({OWNER_TAG: uid});
    body
}

fn queue_types() -> WorkRequestTypes {
    match kind("queue/Queue").decisions.strategy {
        Strategy::WorkRequest(types) => types,
        Strategy::Lifecycle => panic!("a queue has work requests"),
    }
}

fn create(body: Value, token: Option<&str>) -> Call {
    let not_after = Timestamp::now() + SignedDuration::from_mins(1);
    Call::Create { token: token.map(str::to_owned), body, not_after, replay: false }
}

fn find(id: Option<String>, since: Option<Timestamp>) -> Call {
    Call::Find { scope: within(oraclecloud_emulator::COMPARTMENT), id, since }
}

fn found(answer: Response) -> (Vec<String>, Vec<String>) {
    match answer.body {
        Body::Listing { resources, creating } => {
            (resources.iter().map(|entry| text(&entry["id"])).collect(), creating)
        }
        other => panic!("{other:?}"),
    }
}

fn json_body(answer: Response) -> Value {
    match answer.body {
        Body::Json(value) => value,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_call_for_a_queue_works() {
    let server = server(instant_script()).await;
    let client = client(&server);
    let call =
        async |call: Call| oraclecloud::call(&client, kind("queue/Queue"), &Value::Null, UID, &call).await;
    let accepted = call(create(tagged(queue_body("orders"), UID), Some("t"))).await.unwrap();
    assert_eq!(accepted.body, Body::Empty);
    assert!(accepted.request_id.is_some());
    let work = accepted.work_request_id.unwrap();
    let polled = json_body(call(Call::GetWorkRequest { id: work.clone() }).await.unwrap());
    let id = WorkRequest::read(&polled, &work, &queue_types()).resource_id.unwrap();
    let got = call(Call::Get { id: id.clone(), listed: false }).await.unwrap();
    let if_match = got.etag.clone();
    assert_eq!(json_body(got)["displayName"], json!("orders"));
    call(Call::Update { id: id.clone(), body: json!({"visibilityInSeconds": 1}), if_match }).await.unwrap();
    let got = call(Call::Get { id: id.clone(), listed: true }).await.unwrap();
    call(Call::Delete { id: id.clone(), if_match: got.etag }).await.unwrap();
    let entries = server.journal().entries();
    assert!(entries.iter().filter(|entry| entry.effect).skip(1).all(|entry| entry.if_match.is_some()));
}

#[tokio::test]
async fn a_listing_finds_tagged_resources_and_pending_creates() {
    let server = server(Script { page_size: Some(1), ..Script::default() }).await;
    let client = client(&server);
    let since = Some(Timestamp::now() - SignedDuration::from_mins(1));
    let find = async |id: Option<String>, since| {
        found(
            oraclecloud::call(&client, kind("queue/Queue"), &Value::Null, UID, &find(id, since))
                .await
                .unwrap(),
        )
    };
    let queues = queue_api(&client);
    assert_eq!(find(None, since).await, (vec![], vec![]));
    queues.create(&tagged(queue_body("theirs"), "another"), None, None).await.unwrap();
    queues.create(&queue_body("untagged"), None, None).await.unwrap();
    assert_eq!(find(None, since).await, (vec![], vec![]), "those belong to others");
    let ours = queues.create(&tagged(queue_body("ours"), UID), None, None).await.unwrap();
    let ids: Vec<String> = server.resources().iter().map(|resource| text(&resource["id"])).collect();
    let by_name = |name: &str| {
        let resources = server.resources();
        let resource = resources.iter().find(|resource| resource["displayName"] == json!(name)).unwrap();
        text(&resource["id"])
    };
    assert_eq!(ids.len(), 3);
    assert_eq!(find(None, since).await, (vec![by_name("ours")], vec![ours.work_request_id.unwrap()]));
    assert_eq!(
        find(Some(by_name("untagged")), None).await,
        (vec![by_name("untagged"), by_name("ours")], vec![])
    );
    let later = Some(Timestamp::now() + SignedDuration::from_mins(6));
    assert_eq!(find(None, later).await, (vec![by_name("ours")], vec![]));
}

#[tokio::test]
async fn a_create_that_is_not_listed_yet_is_found_by_its_work_request() {
    let hidden = Timeline { hidden: 1_000, ..Timeline::default() };
    let server = server(script_with(Operation::CreateQueue, hidden)).await;
    let client = client(&server);
    server.faults().inject_next(Operation::CreateQueue, FaultKind::ResetAfter);
    let since = Some(Timestamp::now() - SignedDuration::from_mins(1));
    let body = tagged(queue_body("orders"), UID);
    let trouble =
        oraclecloud::call(&client, kind("queue/Queue"), &Value::Null, UID, &create(body, Some("t")))
            .await
            .unwrap_err();
    assert_eq!((trouble.status, trouble.kind()), (None, CallErrorKind::Transient));
    let search = find(None, since);
    let (resources, creating) =
        found(oraclecloud::call(&client, kind("queue/Queue"), &Value::Null, UID, &search).await.unwrap());
    assert_eq!((resources.len(), creating.len()), (0, 1));
}

#[tokio::test]
async fn a_failure_is_explained_by_its_errors_or_else_by_its_log() {
    let server = server(script_with(Operation::CreateQueue, failing("no room"))).await;
    let client = client(&server);
    let explain = async |work: &str| {
        let shown = queue_api(&client).work_request(work).await.unwrap().body;
        let work_request = Box::new(WorkRequest::read(&shown, work, &queue_types()));
        let call = Call::ExplainFailure { work_request };
        oraclecloud::call(&client, kind("queue/Queue"), &Value::Null, UID, &call).await.unwrap().body
    };
    let (_, failed) = create_queue(&client, "orders").await;
    assert_eq!(explain(&failed).await, Body::Errors(vec!["OutOfCapacity: no room".to_owned()]));
    server
        .faults()
        .inject_next(Operation::ListWorkRequestErrors, FaultKind::Body(r#"{"items": []}"#.to_owned()));
    assert_eq!(explain(&failed).await, Body::Errors(vec!["CREATE_QUEUE failed".to_owned()]));
}

#[tokio::test]
async fn errors_are_classified() {
    let server = server(instant_script()).await;
    let client = client(&server);
    let check = async |fault: FaultKind, verdict: CallErrorKind| {
        server.faults().inject_next(Operation::GetQueue, fault.clone());
        let call = Call::Get { id: "any".to_owned(), listed: false };
        let trouble =
            oraclecloud::call(&client, kind("queue/Queue"), &Value::Null, UID, &call).await.unwrap_err();
        assert_eq!(trouble.kind(), verdict, "{fault:?} {trouble}");
    };
    let refuse = |status, code: &str| FaultKind::Refuse { status, code: code.to_owned(), retry_after: None };
    check(refuse(429, "TooManyRequests"), CallErrorKind::Transient).await;
    check(refuse(503, "ServiceUnavailable"), CallErrorKind::Transient).await;
    check(refuse(401, "NotAuthenticated"), CallErrorKind::Denied).await;
    check(refuse(404, "NotFound"), CallErrorKind::NotFoundOrDenied).await;
    check(refuse(409, "IncorrectState"), CallErrorKind::Conflict).await;
    check(refuse(400, "InvalidParameter"), CallErrorKind::Rejected).await;
    check(FaultKind::ResetAfter, CallErrorKind::Transient).await;
    check(FaultKind::Html(200), CallErrorKind::Transient).await;
    check(FaultKind::Html(502), CallErrorKind::Transient).await;
    server.clock().skew(SignedDuration::from_mins(10));
    let call = Call::Get { id: "any".to_owned(), listed: false };
    let trouble =
        oraclecloud::call(&client, kind("queue/Queue"), &Value::Null, UID, &call).await.unwrap_err();
    assert_eq!(trouble.kind(), CallErrorKind::Denied);
    assert!(trouble.message.contains("set the clock"), "{trouble}");
}

#[tokio::test]
async fn every_call_for_a_stream_works() {
    let server = server(Script { page_size: Some(1), ..instant_script() }).await;
    let client = client(&server);
    let call = async |call: Call| {
        oraclecloud::call(&client, kind("streaming/Stream"), &Value::Null, UID, &call).await
    };
    create_stream(&client, "theirs").await;
    let created = call(create(tagged(stream_body("ours"), UID), Some("ignored"))).await.unwrap();
    assert!(created.etag.is_some() && created.work_request_id.is_none());
    let id = text(&json_body(created)["id"]);
    let listed = found(call(find(None, Some(Timestamp::now()))).await.unwrap());
    assert_eq!(listed, (vec![id.clone()], vec![]));
    let got = call(Call::Get { id: id.clone(), listed: true }).await.unwrap();
    let tags = tagged(json!({}), UID);
    let updated = call(Call::Update { id: id.clone(), body: tags, if_match: got.etag }).await.unwrap();
    call(Call::Get { id: id.clone(), listed: true }).await.unwrap();
    call(Call::Delete { id: id.clone(), if_match: updated.etag }).await.unwrap();
    assert_eq!(
        json_body(call(Call::Get { id, listed: true }).await.unwrap())["lifecycleState"],
        json!("DELETED")
    );
    assert!(call(Call::GetWorkRequest { id: "w".to_owned() }).await.is_err());
}
