//! The endpoints of a running operator: `/livez`, `/readyz` and `/metrics`.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::metrics::{self, Metrics};
use super::store::{Store, StoreStatus};

const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// Probes and Prometheus need a handful.
const MAX_CONNECTIONS: usize = 64;

/// Why an endpoint cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} for {purpose}")]
pub struct ListenError {
    pub address: SocketAddr,
    /// `metrics` or `health`.
    pub purpose: &'static str,
    source: io::Error,
}

impl ListenError {
    pub fn is_taken(&self) -> bool {
        self.source.kind() == io::ErrorKind::AddrInUse
    }
}

/// Whether the operator is ready. Clones share the state.
#[derive(Clone, Default)]
pub struct Readiness(Arc<Mutex<ReadinessState>>);

#[derive(Default)]
struct ReadinessState {
    not_ready: Option<&'static str>,
    /// Without these, controllers do nothing.
    stores: Vec<StoreStatus>,
}

impl Readiness {
    pub(crate) fn not_yet(why: &'static str) -> Self {
        let readiness = Self::default();
        readiness.set(Some(why));
        readiness
    }

    /// Ready, or not ready for this reason.
    pub(crate) fn set(&self, not_ready: Option<&'static str>) {
        self.state().not_ready = not_ready;
    }

    /// Not ready while `store`, without which controllers do nothing, cannot be kept up to date.
    pub(crate) fn requires(&self, store: &Store) {
        let mut state = self.state();
        state.stores.retain(|store| !store.is_gone());
        state.stores.push(store.status());
    }

    fn why_not(&self) -> Option<String> {
        let state = self.state();
        let trouble = || state.stores.iter().find_map(StoreStatus::trouble);
        state.not_ready.map(str::to_owned).or_else(trouble)
    }

    fn state(&self) -> MutexGuard<'_, ReadinessState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the endpoints serve.
#[derive(Clone)]
pub(crate) struct Pages {
    pub(crate) readiness: Readiness,
    /// `None` where only probes connect: metrics may be protected elsewhere.
    pub(crate) metrics: Option<Metrics>,
}

pub(crate) async fn listen(address: SocketAddr, purpose: &'static str) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(|source| ListenError { address, purpose, source })
}

pub(crate) async fn serve(listener: TcpListener, pages: Pages, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(answer(stream, pages.clone()));
                }
                // Out of file descriptors, for instance, of which others will be released.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
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
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection for health or metrics failed");
    }
}

impl Pages {
    fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        let (status, content_type, text) = match (path, &self.metrics) {
            _ if *method != Method::GET && *method != Method::HEAD => {
                (StatusCode::METHOD_NOT_ALLOWED, plain, "only GET\n".to_owned())
            }
            // A process that answers is alive.
            ("/livez", _) => (StatusCode::OK, plain, "ok\n".to_owned()),
            ("/readyz", _) => match self.readiness.why_not() {
                None => (StatusCode::OK, plain, "ok\n".to_owned()),
                Some(why) => (StatusCode::SERVICE_UNAVAILABLE, plain, format!("{why}\n")),
            },
            ("/metrics", Some(metrics)) => {
                let content_type = HeaderValue::from_static(metrics::CONTENT_TYPE);
                (StatusCode::OK, content_type, metrics.text(Timestamp::now()))
            }
            (_, None) => (StatusCode::NOT_FOUND, plain, "try /livez or /readyz\n".to_owned()),
            (_, Some(_)) => (StatusCode::NOT_FOUND, plain, "try /livez, /readyz or /metrics\n".to_owned()),
        };
        let mut response = Response::new(Full::from(text));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        response
    }
}

#[cfg(test)]
mod tests;
