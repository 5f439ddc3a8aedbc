use std::time::Duration;

use futures::future::join_all;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::runtime::controller::GOES_FIRST;
use crate::runtime::testing::{self, Response};

const MAP: &str = "PATCH /api/v1/namespaces/shop/configmaps/a";

fn map() -> Object {
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}});
    json_object::from_value(map)
}

/// A leader that stood still goes on where it was, when another copy may have taken over.
#[tokio::test(start_paused = true)]
async fn nothing_is_written_once_the_lease_has_expired() {
    let (client, journal) = testing::client(|_| Response::Silence);
    let leadership = Leadership::default();
    leadership.ends(Instant::now() + Duration::from_secs(30));
    let client = ObjectClient::new(Session::new(client)).while_leading(leadership);
    let leading = tokio::time::timeout(Duration::from_secs(29), client.apply(&map(), "leading")).await;
    assert!(leading.is_err(), "it is sent, and not answered");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let error = client.apply(&map(), "late").await.unwrap_err();
    assert_eq!(error.text(), "this copy of the operator no longer leads");
    assert_eq!((journal.count(MAP, "fieldManager=leading"), journal.count(MAP, "fieldManager=late")), (1, 0));
}

/// The API server answers nothing here, so what is sent is what had a permit.
#[tokio::test(start_paused = true)]
async fn a_write_for_a_user_does_not_wait_behind_what_is_merely_due() {
    let (client, journal) = testing::client(|_| Response::Silence);
    let client = ObjectClient::new(Session::new(client));
    let map = map();
    let due = join_all((0..3 * MAX_CONCURRENT_WRITES).map(|_| client.apply(&map, "due")));
    let asked = join_all((0..3 * RESERVED_WRITES).map(|_| client.apply(&map, "asked")));
    let asked = GOES_FIRST.scope(true, asked);
    let all = futures::future::join(due, asked);
    assert!(tokio::time::timeout(Duration::from_secs(5), all).await.is_err(), "none is answered");
    assert_eq!(journal.count(MAP, "fieldManager=due"), MAX_CONCURRENT_WRITES);
    assert_eq!(journal.count(MAP, "fieldManager=asked"), RESERVED_WRITES);
}
