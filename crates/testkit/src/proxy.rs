//! Proxies that inject failures between a program and the servers it talks to.
//!
//! A [`FaultProxy`] withholds a response or takes the server down; a [`KillProxy`] kills the program; a [`TcpProxy`] breaks
//! connections.

mod fault;
mod kill;
mod tcp;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::HttpService;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub use fault::{Fault, FaultProxy};
pub use kill::{KillPoint, KillProxy, KillSwitch};
pub use tcp::TcpProxy;

type Body = UnsyncBoxBody<Bytes, ProxyError>;

/// Closes the program's connection without a response.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct ProxyError(String);

impl ProxyError {
    #[expect(clippy::needless_pass_by_value, reason = "`map_err` passes errors by value")]
    fn new(error: impl ToString) -> Self {
        Self(error.to_string())
    }
}

/// The server behind a proxy.
#[derive(Clone)]
pub enum Upstream {
    /// An API server, reached with the client's credentials.
    Kubernetes(kube::Client),
    /// The URL of a server without TLS. Requests are forwarded with their original host.
    Plain(String),
}

struct Forwarder {
    upstream: Upstream,
    plain: legacy::Client<HttpConnector, Full<Bytes>>,
}

impl Forwarder {
    fn new(upstream: Upstream) -> Self {
        Self { upstream, plain: legacy::Client::builder(TokioExecutor::new()).build_http() }
    }

    async fn forward(&self, request: Request<Incoming>) -> Result<Response<Body>, ProxyError> {
        let (mut parts, body) = request.into_parts();
        let body = body.collect().await.map_err(ProxyError::new)?.to_bytes();
        for name in [&CONNECTION, &TRANSFER_ENCODING, &CONTENT_LENGTH] {
            parts.headers.remove(name);
        }
        let mut response = match &self.upstream {
            Upstream::Kubernetes(client) => {
                // The client sets the host, and does not decompress.
                for name in [&HOST, &ACCEPT_ENCODING] {
                    parts.headers.remove(name);
                }
                let request = Request::from_parts(parts, kube::client::Body::from(body.to_vec()));
                let response = client.send(request).await.map_err(ProxyError::new)?;
                response.map(|body| body.map_err(ProxyError::new).boxed_unsync())
            }
            Upstream::Plain(base) => {
                let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
                parts.uri = format!("{base}{target}").parse::<Uri>().map_err(ProxyError::new)?;
                let request = Request::from_parts(parts, Full::new(body));
                let response = self.plain.request(request).await.map_err(ProxyError::new)?;
                response.map(|body| body.map_err(ProxyError::new).boxed_unsync())
            }
        };
        for name in [&CONNECTION, &TRANSFER_ENCODING] {
            response.headers_mut().remove(name);
        }
        Ok(response)
    }
}

/// Serves connections; dropping the future closes all of them.
async fn serve<S>(listener: &TcpListener, service: S)
where
    S: HttpService<Incoming, ResBody = Body, Error = ProxyError> + Clone + Send + 'static,
    S::Future: Send,
{
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone()));
        while connections.try_join_next().is_some() {}
    }
}
