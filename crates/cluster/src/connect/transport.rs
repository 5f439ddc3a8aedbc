//! The HTTP stack below `kube::Client`: proxy, TLS, base URL, credentials, and one retry after a 401.
//!
//! TLS itself is kube's (its `Config` becomes a connector); the route to the server and the credentials are ours. There
//! is one more retry if the server's certificate is not trusted and the file of CA certificates has changed, and no
//! response timeout: callers see every response and set their own limits.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http::uri::PathAndQuery;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tower::timeout::Timeout;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceExt as _};

use super::ConnectError;
use super::credentials::{CredentialError, CredentialSource};
use super::endpoint::Endpoint;
use super::pem::Identity;
use super::streams::{ResponseBody, Stream, StreamPools, is_watch_of_one};
use crate::Impersonate;

/// How long a TCP connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The same including TLS and the proxy, which may accept a connection and then stay silent.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);
/// After this much silence the connection is probed, so that a watch notices a dead server.
const KEEPALIVE: Duration = Duration::from_secs(30);

type HttpService = BoxCloneSyncService<Request<Full<Bytes>>, Response<Incoming>, legacy::Error>;

/// Sends requests to one server.
#[derive(Clone)]
pub(crate) struct Transport(Arc<Inner>);

struct Inner {
    connector: Connector,
    headers: HeaderMap,
    credentials: CredentialSource,
    http: Mutex<HttpClient>,
}

/// What connections of a pool speak.
#[derive(Clone, Copy)]
enum Protocol {
    /// One request at a time.
    Http1,
    /// Many, if the server speaks HTTP/2 too.
    Http2,
}

/// A connection pool and the client certificate it presents; another certificate needs another pool.
struct HttpClient {
    identity: Option<Identity>,
    service: HttpService,
    /// For watches of single objects.
    streams: StreamPools<HttpService>,
    /// The file of CA certificates as it was read for these connections.
    roots: Option<Arc<[u8]>>,
}

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportError {
    #[error(transparent)]
    Credentials(#[from] Arc<CredentialError>),
    #[error("the certificate printed by the exec plugin cannot be used")]
    Identity(#[source] ConnectError),
    #[error("no response from the server")]
    Http(#[source] legacy::Error),
}

impl Transport {
    pub(crate) fn new(endpoint: Endpoint, user_agent: &str) -> Result<Self, ConnectError> {
        Self::with_timeout(endpoint, user_agent, HANDSHAKE_TIMEOUT)
    }

    fn with_timeout(endpoint: Endpoint, user_agent: &str, timeout: Duration) -> Result<Self, ConnectError> {
        let mut headers = impersonation(&endpoint.impersonate)?;
        let agent = HeaderValue::try_from(user_agent).map_err(|_| ConnectError::Header("the user agent"))?;
        headers.insert(USER_AGENT, agent);
        let Endpoint { config, proxy, identity, credentials, .. } = endpoint;
        let connector = Connector { config, proxy, identity, timeout };
        let http = Mutex::new(connector.client(None)?);
        let credentials = CredentialSource::new(credentials);
        Ok(Self(Arc::new(Inner { connector, headers, credentials, http })))
    }

    async fn send(self, request: Request<Body>) -> Result<Response<ResponseBody>, TransportError> {
        let inner = &*self.0;
        let (mut parts, body) = request.into_parts();
        // Request bodies are already in memory; collecting them again copies nothing.
        let body = body.collect_bytes().await.unwrap_or_default();
        parts.uri = join(&inner.connector.config.cluster_url, &parts.uri);
        for (name, value) in &inner.headers {
            parts.headers.append(name, value.clone());
        }
        let credential = inner.credentials.current().await?;
        let attempt = |credential: &super::credentials::Credential| {
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = parts.method.clone();
            *request.uri_mut() = parts.uri.clone();
            request.headers_mut().clone_from(&parts.headers);
            if let Some(value) = &credential.authorization {
                request.headers_mut().insert(AUTHORIZATION, value.clone());
            }
            request
        };
        let answer = inner.send(credential.identity.as_ref(), attempt(&credential)).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        // The request was rejected before it took effect, so repeating it is safe. Without other credentials, the
        // rejection is the response.
        match inner.credentials.instead_of(&credential).await {
            Ok(Some(renewed)) => {
                tracing::debug!("the server rejected the credentials; retrying once with new ones");
                inner.send(renewed.identity.as_ref(), attempt(&renewed)).await
            }
            Ok(None) => Ok(answer),
            Err(error) => Err(error.into()),
        }
    }
}

impl Service<Request<Body>> for Transport {
    type Response = Response<ResponseBody>;
    type Error = TransportError;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}

impl Inner {
    /// Sends a request over a connection that presents `identity`; `None` means the connection's own.
    async fn send(
        &self,
        identity: Option<&Identity>,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<ResponseBody>, TransportError> {
        let Place { service, stream, roots } =
            self.place(identity, request.uri()).map_err(TransportError::Identity)?;
        match service.oneshot(request.clone()).await {
            // Nothing was sent: the handshake failed.
            Err(error)
                if caused_by::<rustls::Error>(&error).is_some() && self.renew_roots(roots.as_ref()) =>
            {
                tracing::info!("the CA certificates have changed; connecting again");
                let Place { service, stream, .. } =
                    self.place(identity, request.uri()).map_err(TransportError::Identity)?;
                let response = service.oneshot(request).await.map_err(TransportError::Http)?;
                Ok(response.map(|body| ResponseBody::new(body, stream)))
            }
            response => {
                let response = response.map_err(TransportError::Http)?;
                Ok(response.map(|body| ResponseBody::new(body, stream)))
            }
        }
    }

    /// Whether connections may trust other CA certificates than `used`: the file was replaced, as a rotation does. From
    /// then on, connections are new.
    fn renew_roots(&self, used: Option<&Arc<[u8]>>) -> bool {
        let mut http = self.http.lock().unwrap_or_else(PoisonError::into_inner);
        // Another request may have found the new ones already.
        if http.roots.as_ref() == used {
            let now = self.connector.roots();
            if now.as_ref() == used {
                return false;
            }
            let identity = http.identity.clone();
            let Ok(renewed) = self.connector.client(identity.as_ref()) else { return false };
            *http = renewed;
        }
        true
    }

    fn place(&self, identity: Option<&Identity>, uri: &Uri) -> Result<Place, ConnectError> {
        let mut http = self.http.lock().unwrap_or_else(PoisonError::into_inner);
        if http.identity.as_ref() != identity {
            *http = self.connector.client(identity)?;
        }
        let roots = http.roots.clone();
        if !is_watch_of_one(uri) {
            return Ok(Place { service: http.service.clone(), stream: None, roots });
        }
        let (service, stream) = http.streams.acquire(|| self.connector.pool(identity, Protocol::Http2))?;
        Ok(Place { service, stream: Some(stream), roots })
    }
}

/// The connection pool for a request.
struct Place {
    service: HttpService,
    /// Its place on a connection that it shares.
    stream: Option<Stream>,
    roots: Option<Arc<[u8]>>,
}

/// How to connect to the server.
struct Connector {
    config: kube::Config,
    proxy: Option<Intercept>,
    identity: Option<Identity>,
    /// How long a connection may take, including proxy and TLS.
    timeout: Duration,
}

impl Connector {
    /// New connections that present `identity`; `None` means the connection's own.
    fn client(&self, identity: Option<&Identity>) -> Result<HttpClient, ConnectError> {
        let roots = self.roots();
        let service = self.pool(identity, Protocol::Http1)?;
        Ok(HttpClient { identity: identity.cloned(), service, streams: StreamPools::default(), roots })
    }

    /// The file of CA certificates as it is now, if there is one.
    fn roots(&self) -> Option<Arc<[u8]>> {
        std::fs::read(self.config.root_cert_file.as_ref()?).ok().map(Arc::from)
    }

    /// A new connection pool that presents `identity`; `None` means the connection's own.
    fn pool(&self, identity: Option<&Identity>, protocol: Protocol) -> Result<HttpService, ConnectError> {
        // The only possible failure is that a provider is already installed.
        let _: Result<(), _> = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        tcp.set_keepalive(Some(KEEPALIVE));
        tcp.set_keepalive_interval(Some(KEEPALIVE));
        let mut config = self.config.clone();
        if let Some(identity) = identity.or(self.identity.as_ref()) {
            let encode = |pem: &crate::Secret| BASE64_STANDARD.encode(pem.expose());
            config.auth_info.client_certificate_data = Some(encode(&identity.certificate));
            config.auth_info.client_key_data = Some(encode(&identity.key).into());
        }
        let Some(proxy) = &self.proxy else { return self.pool_over(&config, tcp, protocol) };
        if matches!(proxy.uri().scheme_str(), Some("socks5" | "socks5h")) {
            let mut socks = SocksV5::new(proxy.uri().clone(), tcp);
            if let Some((user, password)) = proxy.raw_auth() {
                socks = socks.with_auth(user.to_owned(), password.to_owned());
            }
            return self.pool_over(&config, socks, protocol);
        }
        // A proxy's TLS certificate is checked against the system's roots, not the cluster's.
        let to_proxy = kube::Config::new(proxy.uri().clone())
            .rustls_https_connector_with_connector(tcp)
            .map_err(unusable)?;
        let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy);
        if let Some(authorization) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        self.pool_over(&config, tunnel, protocol)
    }

    /// A pool of TLS connections over those that `route` makes.
    fn pool_over<C>(
        &self,
        config: &kube::Config,
        route: C,
        protocol: Protocol,
    ) -> Result<HttpService, ConnectError>
    where
        C: Service<Uri> + Clone + Send + Sync + 'static,
        C::Response:
            hyper::rt::Read + hyper::rt::Write + legacy::connect::Connection + Send + Unpin + 'static,
        C::Future: Send + 'static,
        C::Error: Into<BoxError>,
    {
        let tls = match protocol {
            Protocol::Http1 => config.rustls_https_connector_with_connector(route).map_err(unusable)?,
            Protocol::Http2 => http2_connector(config, route)?,
        };
        // Boxed, because the pool requires `Unpin` futures.
        let connector = Timeout::new(tls, self.timeout).map_future(Box::pin);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(90))
            .timer(TokioTimer::new())
            .http2_keep_alive_interval(KEEPALIVE)
            .http2_keep_alive_while_idle(true)
            .build::<_, Full<Bytes>>(connector);
        Ok(BoxCloneSyncService::new(client))
    }
}

/// A connector that offers HTTP/2, which kube's does not, and is otherwise the same.
fn http2_connector<C>(config: &kube::Config, route: C) -> Result<HttpsConnector<C>, ConnectError> {
    let tls = config.rustls_client_config().map_err(unusable)?;
    let mut builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = name.clone().try_into().map_err(|error| ConnectError::Tls(Box::new(error)))?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    Ok(builder.enable_all_versions().wrap_connector(route))
}

fn unusable(error: kube::Error) -> ConnectError {
    ConnectError::Tls(error.into())
}

/// The first cause of type `T`. `io::Error::source` skips the error it wraps, so look inside it as well.
pub(crate) fn caused_by<'a, T: std::error::Error + 'static>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(found) = inner.and_then(|inner| caused_by::<T>(inner)) {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// Prepends the server's scheme, host and path to a request's path.
fn join(server: &Uri, path: &Uri) -> Uri {
    let base = server.path().trim_end_matches('/');
    let rest = path.path_and_query().map_or("/", PathAndQuery::as_str);
    let mut parts = server.clone().into_parts();
    parts.path_and_query = Some(
        format!("{base}{rest}").parse().expect("two valid paths, the second with its slash, join to one"),
    );
    Uri::from_parts(parts).expect("scheme and authority are those of a valid URL")
}

/// What client-go encodes in the name of a header: what that cannot contain, and the percent sign.
const NOT_IN_HEADER_NAME: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'*')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

fn impersonation(identity: &Impersonate) -> Result<HeaderMap, ConnectError> {
    let value = |text: &str| HeaderValue::try_from(text).map_err(|_| ConnectError::Header("impersonate"));
    let user = identity.user.iter().map(|user| ("impersonate-user", user));
    let uid = identity.uid.iter().map(|uid| ("impersonate-uid", uid));
    let groups = identity.groups.iter().map(|group| ("impersonate-group", group));
    let mut headers = HeaderMap::new();
    for (name, text) in user.chain(uid).chain(groups) {
        headers.append(name, value(text)?);
    }
    for (key, values) in &identity.extra {
        let name = format!("impersonate-extra-{}", utf8_percent_encode(key, NOT_IN_HEADER_NAME));
        let name = HeaderName::try_from(name).map_err(|_| ConnectError::Header("impersonate"))?;
        for extra in values {
            headers.append(name.clone(), value(extra)?);
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests;
