//! What others may ask a running operator: whether it lives, whether it is ready, and what it has counted.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::Timestamp;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::metrics::{self, Metrics};

/// How long a request may take to arrive.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections at a time; probes and Prometheus need a handful.
const MOST_CONNECTIONS: usize = 64;

/// Why the operator cannot be asked.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} for {purpose}")]
pub struct ListenError {
    /// The address that was asked for.
    pub address: SocketAddr,
    /// What was to be served there: `metrics` or `health`.
    pub purpose: &'static str,
    source: io::Error,
}

impl ListenError {
    /// Whether another program has the port.
    pub fn is_taken(&self) -> bool {
        self.source.kind() == io::ErrorKind::AddrInUse
    }
}

/// Whether the operator is ready; clones are of the same operator.
#[derive(Clone)]
pub(crate) struct Readiness(Arc<watch::Sender<Option<&'static str>>>);

impl Readiness {
    /// Not ready, for this reason.
    pub(crate) fn not_yet(why: &'static str) -> Self {
        Self(Arc::new(watch::Sender::new(Some(why))))
    }

    /// Ready; or not, for this reason.
    pub(crate) fn set(&self, not_ready: Option<&'static str>) {
        self.0.send_replace(not_ready);
    }

    fn why_not(&self) -> Option<&'static str> {
        *self.0.borrow()
    }
}

/// What can be asked for.
#[derive(Clone)]
pub(crate) struct Pages {
    pub(crate) readiness: Readiness,
    pub(crate) metrics: Metrics,
}

/// Takes an address.
pub(crate) async fn listen(address: SocketAddr, purpose: &'static str) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(|source| ListenError { address, purpose, source })
}

/// Answers until `stop`.
pub(crate) async fn serve(listener: TcpListener, pages: Pages, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MOST_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(answer(stream, pages.clone()));
                }
                // Out of descriptors, for instance; others will be given back.
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
}

async fn answer(stream: TcpStream, pages: Pages) {
    let service = service_fn(|request: Request<Incoming>| {
        let response = pages.answer(request.method(), request.uri().path());
        async move { Ok::<_, std::convert::Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection for health or metrics broke off");
    }
}

impl Pages {
    fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        let (status, content_type, text) = match path {
            _ if *method != Method::GET && *method != Method::HEAD => {
                (StatusCode::METHOD_NOT_ALLOWED, plain, "only GET\n".to_owned())
            }
            // Whoever can answer this lives.
            "/livez" => (StatusCode::OK, plain, "ok\n".to_owned()),
            "/readyz" => match self.readiness.why_not() {
                None => (StatusCode::OK, plain, "ok\n".to_owned()),
                Some(why) => (StatusCode::SERVICE_UNAVAILABLE, plain, format!("{why}\n")),
            },
            "/metrics" => {
                let content_type = HeaderValue::from_static(metrics::CONTENT_TYPE);
                (StatusCode::OK, content_type, self.metrics.text(Timestamp::now()))
            }
            _ => (StatusCode::NOT_FOUND, plain, "there are /livez, /readyz and /metrics\n".to_owned()),
        };
        let mut response = Response::new(Full::from(text));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        response
    }
}

#[cfg(test)]
mod tests;
