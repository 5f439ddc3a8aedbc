use oraclecloud_emulator::{Operation, Script};
use serde_json::Value;

use crate::*;

fn names(entries: &[Value], field: &str) -> Vec<String> {
    entries.iter().map(|entry| text(&entry[field])).collect()
}

#[tokio::test]
async fn all_pages_are_read() {
    let server = server(Script { page_size: Some(1), ..instant_script() }).await;
    let client = client(&server);
    for name in ["a", "b", "c"] {
        create_queue(&client, name).await;
        create_stream(&client, name).await;
    }
    let compartment = server.compartment();
    let queues = queue_api(&client).list(&within(compartment)).await.unwrap();
    assert_eq!(names(&queues.body, "displayName"), ["a", "b", "c"]);
    let streams = stream_api(&client).list(&within(compartment)).await.unwrap();
    assert_eq!(names(&streams.body, "name"), ["a", "b", "c"]);
    assert_eq!(queue_api(&client).work_requests(compartment).await.unwrap().body.len(), 3);
    for operation in [Operation::ListQueues, Operation::ListStreams, Operation::ListWorkRequests] {
        assert_eq!(server.journal().count(operation), 3, "{operation:?}");
    }
    server.set_page_size(None);
    assert_eq!(queue_api(&client).list(&within(compartment)).await.unwrap().body.len(), 3);
    assert_eq!(server.journal().count(Operation::ListQueues), 4);
}

#[tokio::test]
async fn a_listing_is_limited_to_its_compartment() {
    let server = server(instant_script()).await;
    let client = client(&server);
    create_queue(&client, "a").await;
    assert_eq!(queue_api(&client).list(&within("elsewhere")).await.unwrap().body, Vec::<Value>::new());
    assert_eq!(stream_api(&client).list(&in_pool("elsewhere")).await.unwrap().body, Vec::<Value>::new());
}

#[tokio::test]
async fn a_failed_page_fails_the_listing() {
    let server = server(Script { page_size: Some(1), ..instant_script() }).await;
    let client = client(&server);
    for name in ["a", "b"] {
        create_queue(&client, name).await;
    }
    let fault = oraclecloud_emulator::FaultKind::Refuse {
        status: 503,
        code: "ServiceUnavailable".into(),
        retry_after: None,
    };
    server.faults().inject(oraclecloud_emulator::Fault {
        operation: Operation::ListQueues,
        nth: 2,
        times: 1,
        kind: fault,
    });
    assert_eq!(
        rejection(queue_api(&client).list(&within(server.compartment())).await),
        (503, "ServiceUnavailable".to_owned())
    );
}
