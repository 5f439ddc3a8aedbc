use std::sync::Mutex;
use std::time::Duration;

use backoff::Backoff;
use futures::future::join_all;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::runtime::controller::{self, Action, GOES_FIRST, ReconcileError, Reconciler};
use crate::runtime::metrics::Metrics;
use crate::runtime::queue::Queue;
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

/// Writes one object whenever it is reconciled.
struct Writer {
    client: ObjectClient,
    queue: Queue<Self>,
    began: Instant,
    /// When it has written, in seconds.
    log: Mutex<Vec<u64>>,
}

impl Reconciler for Writer {
    type Key = &'static str;
    type Memory = ();
    type Signals = ();
    type Error = String;

    const NAME: &'static str = "writer";
    const MAX_CONCURRENT_RECONCILES: usize = 1;
    const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(2));

    fn find(&self, _key: &&'static str) -> Option<Arc<Value>> {
        Some(Arc::new(Value::Object(map())))
    }

    async fn reconcile(
        self: &Arc<Self>,
        _key: &&'static str,
        _object: Arc<Value>,
        _memory: &mut (),
    ) -> Result<Action, ReconcileError<String>> {
        self.log.lock().unwrap().push(self.began.elapsed().as_secs());
        self.client.apply(&map(), "writer").await?;
        Ok(Action::await_change())
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_the_server_turns_away_is_repeated_when_the_server_says() {
    let mut answers = 0;
    let (client, _) = testing::client(move |_| {
        answers += 1;
        if answers == 1 { Response::TooMany(120) } else { Response::Json(200, Value::Object(map())) }
    });
    let writer = Arc::new(Writer {
        client: ObjectClient::new(Session::new(client)),
        queue: Queue::default(),
        began: Instant::now(),
        log: Mutex::default(),
    });
    writer.queue.enqueue("a");
    let (metrics, stop) = (Metrics::new(), CancellationToken::new());
    let running = controller::run(&writer, &writer.queue, &metrics, stop);
    assert!(tokio::time::timeout(Duration::from_secs(600), running).await.is_err(), "it is not stopped");
    assert_eq!(*writer.log.lock().unwrap(), [0, 120]);
}
