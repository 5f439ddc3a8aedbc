use std::time::Duration;

use futures::future::join_all;
use serde_json::json;

use super::*;
use crate::runtime::controller::GOES_FIRST;
use crate::runtime::testing::{self, Response};

const MAP: &str = "PATCH /api/v1/namespaces/shop/configmaps/a";

/// The API server answers nothing here, so what is sent is what had a permit.
#[tokio::test(start_paused = true)]
async fn a_write_for_a_user_does_not_wait_behind_what_is_merely_due() {
    let (client, journal) = testing::client(|_| Response::Silence);
    let client = ObjectClient::new(Session::new(client));
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}});
    let map = json_object::from_value(map);
    let due = join_all((0..3 * MAX_CONCURRENT_WRITES).map(|_| client.apply(&map, "due")));
    let asked = join_all((0..3 * RESERVED_WRITES).map(|_| client.apply(&map, "asked")));
    let asked = GOES_FIRST.scope(true, asked);
    let all = futures::future::join(due, asked);
    assert!(tokio::time::timeout(Duration::from_secs(5), all).await.is_err(), "none is answered");
    assert_eq!(journal.count(MAP, "fieldManager=due"), MAX_CONCURRENT_WRITES);
    assert_eq!(journal.count(MAP, "fieldManager=asked"), RESERVED_WRITES);
}
