//! The Queues of the benchmark, at an emulator of Oracle Cloud.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bench::Outcome;
use bench::stage::Start;
use cluster::{Selection, Session, WatchEvent, Write};
use futures::{StreamExt as _, stream};
use manifest::{Namespace, ObjectRef};
use oraclecloud_emulator::{Operation, Options, Pace, Script, Server, serve};
use serde_json::{Value, json};

const KIND: &str = "queue.oracle.com/v1beta1/Queue";
const PATIENCE: Duration = Duration::from_secs(120);

/// A cloud for Queues.
pub(crate) struct Queues(Server);

impl Queues {
    pub(crate) async fn serve() -> Outcome<Self> {
        let script = Script { pace: Pace::StepMillis(100), ..Script::default() };
        Ok(Self(serve(Options { script, ..Options::default() }).await?))
    }

    /// How an operator is started that uses this cloud, without a limit of calls, which would be all that is measured.
    pub(crate) fn start(&self) -> Start {
        Start {
            flags: vec![
                format!("--oci-endpoint={}", self.0.url()),
                "--oci-qps=10000".to_owned(),
                "--poll-interval=1s".to_owned(),
            ],
            variables: vec![("OCI_CONFIG_FILE_PATH".to_owned(), self.0.config_file().display().to_string())],
        }
    }

    /// Creates Queues and waits until all are ready.
    pub(crate) async fn create(&self, session: &Session, count: usize, in_flight: usize) -> Outcome<()> {
        let create = |number: usize| {
            let queue = self.queue(number, 30);
            async move { session.create(&reference(number), &queue, Write::by("bench")).await }
        };
        let created = stream::iter(0..count).map(create).buffer_unordered(in_flight).collect::<Vec<_>>();
        created.await.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut watch = session.watch(&KIND.parse()?, Selection::default(), None).await?;
        let mut ready = BTreeSet::new();
        while ready.len() < count {
            let event = tokio::time::timeout(PATIENCE, watch.next()).await;
            let event = event.map_err(|_| format!("only {} of {count} Queues are ready", ready.len()))??;
            if let WatchEvent::Applied(queue) = event
                && is_ready(&queue)
            {
                ready.insert(queue["metadata"]["name"].as_str().unwrap_or_default().to_owned());
            }
        }
        Ok(())
    }

    /// Waits until as many more Queues are read at the cloud.
    pub(crate) async fn is_read(&self, times: usize) -> Outcome<()> {
        let reads = || self.0.journal().count(Operation::GetQueue);
        let (before, began) = (reads(), Instant::now());
        while reads() < before + times {
            if began.elapsed() > PATIENCE {
                return Err("the operator reads no Queues".into());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Has a user change a Queue; how long it takes until the cloud is asked for it.
    pub(crate) async fn take_up(&self, session: &Session) -> Outcome<Duration> {
        let updates = || self.0.journal().count(Operation::UpdateQueue);
        let before = updates();
        let began = Instant::now();
        session.apply(&reference(0), &self.queue(0, 60), Write::by("bench").force()).await?;
        while updates() == before {
            if began.elapsed() > PATIENCE {
                return Err("the change of a Queue was not taken up".into());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(began.elapsed())
    }

    fn queue(&self, number: usize, visibility: u32) -> Value {
        json!({
            "apiVersion": "queue.oracle.com/v1beta1", "kind": "Queue",
            "metadata": {"name": name(number), "namespace": "default"},
            "spec": {
                "displayName": name(number), "compartmentId": self.0.compartment(),
                "visibilityInSeconds": visibility,
            },
        })
    }
}

fn name(number: usize) -> String {
    format!("queue-{number}")
}

fn reference(number: usize) -> ObjectRef {
    ObjectRef::new(KIND.parse().expect("a valid kind"), Namespace::new("default"), name(number))
}

fn is_ready(queue: &Value) -> bool {
    let conditions = queue.pointer("/status/conditions").and_then(Value::as_array);
    let is_ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    conditions.is_some_and(|conditions| conditions.iter().any(is_ready))
}
