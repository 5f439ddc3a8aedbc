//! Pages as a probe sees them, over a real socket.

use cluster::Session;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::runtime::store::Source;
use crate::runtime::testing::{Response, Seen, client, refusal};

async fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("{request} HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    format!("{} {}", head.lines().next().unwrap(), body.lines().next().unwrap_or_default())
}

#[tokio::test]
async fn probes_and_prometheus_get_their_pages() {
    let listener = listen("127.0.0.1:0".parse().unwrap(), "health").await.unwrap();
    let address = listener.local_addr().unwrap();
    let readiness = Readiness::not_yet("the cluster has not answered yet");
    let pages = Pages { readiness: readiness.clone(), metrics: Some(Metrics::new()) };
    let stop = CancellationToken::new();
    let serving = tokio::spawn(serve(listener, pages, stop.clone()));
    let check = async |request: &str, expected: &str| assert_eq!(ask(address, request).await, expected);
    check("GET /livez", "HTTP/1.1 200 OK ok").await;
    check("GET /readyz", "HTTP/1.1 503 Service Unavailable the cluster has not answered yet").await;
    readiness.set(None);
    check("GET /readyz", "HTTP/1.1 200 OK ok").await;
    check(
        "GET /metrics",
        "HTTP/1.1 200 OK # HELP plimsoll_leader Whether this copy of the operator runs controllers.",
    )
    .await;
    check("GET /", "HTTP/1.1 404 Not Found try /livez, /readyz or /metrics").await;
    check("POST /livez", "HTTP/1.1 405 Method Not Allowed only GET").await;
    stop.cancel();
    serving.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "the port is free again");
}

#[tokio::test(start_paused = true)]
async fn an_operator_whose_stores_cannot_sync_is_not_ready() {
    let is_forbidden = Arc::new(Mutex::new(true));
    let forbidden = Arc::clone(&is_forbidden);
    let (client, _) = client(move |seen: &Seen| {
        if *forbidden.lock().unwrap() {
            return refusal(403, "Forbidden");
        }
        if seen.query.contains("watch=true") {
            Response::Silence
        } else {
            Response::Json(200, json!({ "metadata": { "resourceVersion": "1" }, "items": [] }))
        }
    });
    let source = Source::of("v1/ConfigMap".parse().unwrap());
    let store = Store::start(Session::new(client), source, &Metrics::new(), &CancellationToken::new());
    let readiness = Readiness::default();
    readiness.requires(&store);
    store.ready().await.unwrap_err();
    let why = readiness.why_not().unwrap();
    assert!(why.starts_with("v1/ConfigMap: cannot list objects of kind ConfigMap"), "{why}");
    *is_forbidden.lock().unwrap() = false;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(readiness.why_not(), None);
    *is_forbidden.lock().unwrap() = true;
    drop(store);
    assert_eq!(readiness.why_not(), None, "it is no longer required");
}

#[test]
fn a_port_for_probes_serves_no_metrics() {
    let pages = Pages { readiness: Readiness::not_yet("not yet"), metrics: None };
    for (path, status) in [("/livez", StatusCode::OK), ("/metrics", StatusCode::NOT_FOUND)] {
        assert_eq!(pages.answer(&Method::GET, path).status(), status, "{path}");
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let first = listen("127.0.0.1:0".parse().unwrap(), "health").await.unwrap();
    let address = first.local_addr().unwrap();
    let error = listen(address, "metrics").await.unwrap_err();
    assert!(error.is_taken());
    assert_eq!(error.to_string(), format!("cannot listen on {address} for metrics"));
}
