//! An operator waits while Crossplane runs, yields when it starts, and resumes when it is gone.

use std::net::SocketAddr;
use std::time::Duration;

use cluster::{Connection, Session, Write};
use jiff::Timestamp;
use operator::{Error, FunctionOptions, Half, Options};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::fixture::{PATIENCE, condition, condition_line, delete, get, is_true, reference, until};
use crate::operators::{Offer, alone};

/// Crossplane's lease, held for an hour from now.
fn held() -> Value {
    let now = Timestamp::now();
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "crossplane-leader-election-core", "namespace": "default"},
        "spec": {
            "holderIdentity": "crossplane-0", "leaseDurationSeconds": 3600,
            "renewTime": format!("{now:.6}"),
        },
    })
}

/// An operator that takes part in the election of a leader.
struct Running {
    task: JoinHandle<Result<(), Error>>,
    stop: CancellationToken,
    metrics: SocketAddr,
}

impl Running {
    async fn start(offer: &Offer) -> Self {
        let metrics = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let connection =
            Connection { config_paths: vec![offer.sandbox.kubeconfig()], ..Connection::default() };
        let options = Options {
            controllers: vec![Half::Composition],
            functions: FunctionOptions { endpoints: offer.functions.clone(), ..FunctionOptions::default() },
            namespace: manifest::Namespace::new("default"),
            leader_elect: Some(true),
            metrics_address: Some(metrics),
            health_address: None,
            ..Options::on(connection)
        };
        let stop = CancellationToken::new();
        Self { task: tokio::spawn(operator::run(options, stop.clone())), stop, metrics }
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }

    /// Waits until the metrics count XRs and claims, or do not.
    async fn until_counted(&self, are_counted: bool) {
        let is_so = |text: String| {
            ["plimsoll_claims{", "plimsoll_composites{"].map(|metric| text.contains(metric))
                == [are_counted; 2]
        };
        let counting = async {
            let mut looks = tokio::time::interval(Duration::from_millis(50));
            while !self.read_metrics().await.is_some_and(is_so) {
                looks.tick().await;
            }
        };
        tokio::time::timeout(PATIENCE, counting).await.expect("the metrics follow");
    }

    /// The metrics, unless the operator does not serve them yet.
    async fn read_metrics(&self) -> Option<String> {
        let mut stream = TcpStream::connect(self.metrics).await.ok()?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: o\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        Some(text)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_waits_for_crossplane_yields_to_it_and_resumes_afterwards() {
    let (sandbox, _turn) = alone().await;
    let offer = Offer::new(sandbox, "rival").await;
    let session = Session::new(sandbox.client().await);
    let hold = async || {
        session.apply(&reference(&held()), &held(), Write::by("crossplane").force()).await.unwrap();
    };
    let is_aside = |xrd: &Value| condition(xrd, "ServedByPlimsoll").is_some();
    let claim = offer.object("App", Some("default"), "a");

    // It is installed beside Crossplane, and waits.
    hold().await;
    let running = Running::start(&offer).await;
    let xrd = until(&session, &offer.xrd, "it says that another engine serves it", is_aside).await;
    assert_eq!(condition_line(&xrd, "ServedByPlimsoll"), "ServedByPlimsoll=False RivalRunning");
    let message = condition(&xrd, "ServedByPlimsoll").unwrap()["message"].as_str().unwrap();
    assert!(message.starts_with("Crossplane is running: crossplane-0 holds the lease default/"), "{message}");
    assert_eq!(condition(&xrd, "Established"), None, "nothing is reconciled");
    delete(&session, &held()).await;
    session.apply_when_possible(&reference(&claim), &claim, Write::by("person").force()).await.unwrap();
    until(&session, &claim, "it is healthy", |claim| is_true(claim, "Healthy")).await;
    running.until_counted(true).await;

    // Crossplane starts again.
    hold().await;
    until(&session, &offer.xrd, "it says again that another engine serves it", is_aside).await;
    let released =
        until(&session, &claim, "it no longer says Healthy", |claim| condition(claim, "Healthy").is_none())
            .await;
    assert!(is_true(&released, "Ready"), "what Crossplane knows stays");
    running.until_counted(false).await;
    delete(&session, &held()).await;
    let healthy = until(&session, &claim, "it is healthy again", |claim| is_true(claim, "Healthy")).await;
    until(&session, &offer.xrd, "it no longer names another engine", |xrd| !is_aside(xrd)).await;
    running.until_counted(true).await;
    running.end().await;

    // Another copy of the operator takes over what is there as it is.
    let next = Running::start(&offer).await;
    next.until_counted(true).await;
    assert_eq!(get(&session, &claim).await.unwrap(), healthy);
    next.end().await;
}
