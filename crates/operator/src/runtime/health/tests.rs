//! Pages as a probe sees them, over a real socket.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

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
    let pages = Pages { readiness: readiness.clone(), metrics: Metrics::new() };
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

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let first = listen("127.0.0.1:0".parse().unwrap(), "health").await.unwrap();
    let address = first.local_addr().unwrap();
    let error = listen(address, "metrics").await.unwrap_err();
    assert!(error.is_taken());
    assert_eq!(error.to_string(), format!("cannot listen on {address} for metrics"));
}
