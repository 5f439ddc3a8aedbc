use std::error::Error as _;

use oraclecloud::{ErrorKind, Problem};
use oraclecloud_emulator::{FaultKind, Operation, Script};

use crate::*;

fn refuse(status: u16, code: &str, retry_after: Option<u64>) -> FaultKind {
    FaultKind::Refuse { status, code: code.to_owned(), retry_after }
}

#[tokio::test]
async fn every_error_response_has_its_code_and_retry_after() {
    let server = server(instant_script()).await;
    let client = client(&server);
    for (status, code) in [
        (400, "LimitExceeded"),
        (401, "NotAuthenticated"),
        (403, "NotAllowed"),
        (404, "NotFound"),
        (409, "IncorrectState"),
        (412, "NoEtagMatch"),
        (429, "TooManyRequests"),
        (500, "InternalServerError"),
        (503, "ServiceUnavailable"),
    ] {
        server.faults().inject_next(Operation::CreateQueue, refuse(status, code, Some(7)));
        let error = queue_api(&client).create(&queue_body("orders"), Some("t"), None).await.unwrap_err();
        let answer = error.response().unwrap();
        assert_eq!((answer.status, error.code()), (status, code));
        assert_eq!(answer.retry_after, Some(Duration::from_secs(7)));
        assert!(answer.request_id.is_some());
    }
    assert_eq!(server.resources().len(), 0);
    assert_eq!(server.journal().effects(Operation::CreateQueue), 0);
}

#[tokio::test]
async fn a_reset_may_follow_the_effect_and_the_client_cannot_tell() {
    let server = server(instant_script()).await;
    let client = client(&server);
    for (fault, queues) in [(FaultKind::ResetBefore, 0), (FaultKind::ResetAfter, 1)] {
        server.faults().inject_next(Operation::CreateQueue, fault);
        let error = queue_api(&client).create(&queue_body("orders"), Some("t"), None).await.unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Interrupted { .. }), "{error:?}");
        assert!(error.to_string().starts_with("CreateQueue: the connection to 127.0.0.1:"), "{error}");
        assert!(error.source().is_some());
        assert_eq!(server.resources().len(), queues);
    }
    assert_eq!(server.journal().count(Operation::CreateQueue), 2, "one attempt per call");
    queue_api(&client).create(&queue_body("orders"), Some("t"), None).await.unwrap();
    assert_eq!(server.resources().len(), 1, "the token makes the create idempotent");
    let entries = server.journal().entries();
    let statuses: Vec<_> = entries.iter().map(|entry| (entry.status, entry.effect)).collect();
    assert_eq!(statuses, [(None, false), (None, true), (Some(202), false)]);
}

#[tokio::test]
async fn a_slow_response_times_out() {
    let server = server(instant_script()).await;
    let credentials = Credentials::from_config_file(server.config_file(), None, &no_variables);
    let client = client_as(&server, credentials, Duration::from_millis(200));
    server.faults().inject_next(Operation::GetQueue, FaultKind::SlowMillis(600_000));
    let error = queue_api(&client).get("any").await.unwrap_err();
    assert_eq!(error.to_string(), "GetQueue: no response within 0.2 s");
}

#[tokio::test]
async fn the_error_for_an_unreadable_response_describes_it() {
    let server = server(instant_script()).await;
    let client = client(&server);
    let (id, _) = create_queue(&client, "orders").await;
    let check = async |fault: FaultKind, expected: &str| {
        server.faults().inject_next(Operation::GetQueue, fault);
        let error = queue_api(&client).get(&id).await.unwrap_err();
        let message = error.to_string();
        let (front, _) = message.split_once(" (request ").unwrap();
        assert_eq!(front, format!("GetQueue: {expected}"));
    };
    check(FaultKind::Truncate, "200 the response is truncated").await;
    check(FaultKind::Body("{\"id\": ".to_owned()), "200 the response is truncated").await;
    check(FaultKind::Body(String::new()), "200 the response is truncated").await;
    let page = "the response is text/html, not JSON; it begins with `<html><head><title>Bad gateway</title></head><body>nginx</body></html>`";
    check(FaultKind::Html(200), &format!("200 {page}")).await;
    check(FaultKind::Html(502), &format!("502 {page}")).await;
    assert!(queue_api(&client).get(&id).await.is_ok());
    server.faults().inject_next(Operation::ListQueues, FaultKind::Body("{\"items\": 7}".to_owned()));
    let error = queue_api(&client).list(&within(server.compartment())).await.unwrap_err();
    assert_eq!(error.response().unwrap().problem, Problem::Shape("a list"));
}

#[tokio::test]
async fn a_create_with_a_truncated_response_takes_effect() {
    let server = server(instant_script()).await;
    let client = client(&server);
    server.faults().inject_next(Operation::CreateStream, FaultKind::Truncate);
    let error = stream_api(&client).create(&stream_body("clicks"), None, None).await.unwrap_err();
    assert_eq!(error.response().unwrap().problem, Problem::Truncated);
    assert_eq!(server.resources().len(), 1);
}

#[tokio::test]
async fn missing_headers_are_missing_in_the_response() {
    let server = server(instant_script()).await;
    let client = client(&server);
    let all = ["opc-request-id", "opc-work-request-id", "etag"].map(str::to_owned).to_vec();
    server.faults().inject_next(Operation::CreateQueue, FaultKind::WithoutHeaders(all.clone()));
    let accepted = queue_api(&client).create(&queue_body("orders"), None, None).await.unwrap();
    assert_eq!((&accepted.request_id, &accepted.work_request_id), (&None, &None));
    let id = text(&server.resources()[0]["id"]);
    server.faults().inject_next(Operation::GetQueue, FaultKind::WithoutHeaders(all));
    let queue = queue_api(&client).get(&id).await.unwrap();
    assert_eq!(queue.etag, None);
}

#[tokio::test]
async fn an_unreachable_address_is_distinguished_from_a_broken_connection() {
    let keys = tempfile::tempdir().unwrap();
    let server =
        serve(Options { key_dir: Some(keys.path().to_owned()), ..Options::default() }).await.unwrap();
    let client = client(&server);
    drop(server);
    // The listener is closed with its task, which this thread's runtime drops soon.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    let error = queue_api(&client).get("any").await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().ends_with(" cannot be reached"), "{error}");
}

#[tokio::test]
async fn a_request_past_its_deadline_is_not_sent() {
    let server = server(Script::default()).await;
    let client = client(&server);
    let past = jiff::Timestamp::UNIX_EPOCH;
    let error = queue_api(&client).create(&queue_body("orders"), None, Some(past)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "CreateQueue: not sent: the deadline for sending it, 1970-01-01T00:00:00Z, has passed"
    );
    assert_eq!(server.journal().entries().len(), 0);
}

#[tokio::test]
async fn a_client_respects_the_rate_limit_of_its_region() {
    let server = server(Script::default()).await;
    let mut endpoints = Endpoints::default();
    endpoints.add(&server.url()).unwrap();
    let settings = Settings { deadline: Duration::from_secs(5), endpoints, limiter: RateLimiter::new(0.01) };
    let credentials = Credentials::from_config_file(server.config_file(), None, &no_variables);
    let client = Client::new(credentials, Connections::new(), settings, &no_variables).unwrap();
    assert_eq!(rejection(queue_api(&client).get("any").await), not_found());
    let error = queue_api(&client).get("any").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "GetQueue: not sent: the rate limit for region us-phoenix-1 would delay it by more than 5 s"
    );
    assert_eq!(server.journal().count(Operation::GetQueue), 1);
}

#[tokio::test]
async fn a_token_creates_one_queue_despite_random_faults() {
    let server = server(instant_script()).await;
    let client = client(&server);
    server.faults().inject_randomly(60, 7);
    for number in 0..10 {
        let token = format!("t{number}");
        let mut attempts = 0;
        while queue_api(&client).create(&queue_body(&token), Some(&token), None).await.is_err() {
            attempts += 1;
            assert!(attempts < 100);
        }
    }
    server.faults().clear();
    assert_eq!(server.resources().len(), 10);
    assert!(server.journal().count(Operation::CreateQueue) > 10);
    assert_eq!(server.journal().effects(Operation::CreateQueue), 10);
}
