//! The HTTP stack below `kube::Client`: base URL, credentials, connections, and one retry after a 401.
//!
//! There is one more retry if the server's certificate is not trusted and the file of CA certificates has changed, and no
//! response timeout: callers see every response and set their own limits. After a request that was given up because no
//! response came for long, connections are new: those that are open may all be dead.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http::uri::PathAndQuery;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper_util::client::legacy;
use kube::client::Body;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::{Service, ServiceExt as _};

use super::ConnectError;
use super::connector::{Connector, HANDSHAKE_TIMEOUT, HttpService, Protocol};
use super::credentials::{CredentialError, CredentialSource};
use super::endpoint::Endpoint;
use super::pem::Identity;
use super::streams::{Http2, ResponseBody, Stream, StreamPools, is_quiet_watch};
use crate::Impersonate;

/// After so long without a response, a request that is given up says that its connection may be dead.
const DEAD_AFTER: Duration = Duration::from_secs(10);

/// Sends requests to one server.
#[derive(Clone)]
pub(crate) struct Transport(Arc<Inner>);

struct Inner {
    connector: Connector,
    headers: HeaderMap,
    credentials: CredentialSource,
    http: Mutex<HttpClient>,
    http2: Http2,
    dead_after: Duration,
}

/// A connection pool and the client certificate it presents; another certificate needs another pool.
struct HttpClient {
    identity: Option<Identity>,
    service: HttpService,
    /// For watches that are seldom heard from.
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
        Self::with_timeouts(endpoint, user_agent, HANDSHAKE_TIMEOUT, DEAD_AFTER)
    }

    fn with_timeouts(
        endpoint: Endpoint,
        user_agent: &str,
        handshake: Duration,
        dead_after: Duration,
    ) -> Result<Self, ConnectError> {
        let mut headers = impersonation(&endpoint.impersonate)?;
        let agent = HeaderValue::try_from(user_agent).map_err(|_| ConnectError::Header("the user agent"))?;
        headers.insert(USER_AGENT, agent);
        let Endpoint { config, proxy, identity, credentials, .. } = endpoint;
        let connector = Connector { config, proxy, identity, timeout: handshake };
        let http = Mutex::new(HttpClient::new(&connector, None)?);
        let credentials = CredentialSource::new(credentials);
        let http2 = Http2::default();
        Ok(Self(Arc::new(Inner { connector, headers, credentials, http, http2, dead_after })))
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
        let shares_a_connection = is_quiet_watch(&request);
        let sending = self.clone().send(request);
        if shares_a_connection { Box::pin(detached(sending)) } else { Box::pin(sending) }
    }
}

/// What is sent goes on although its caller does not poll it for a while: others wait for the connection that it opens.
async fn detached<T: Send + 'static>(sending: impl Future<Output = T> + Send + 'static) -> T {
    let mut task = JoinSet::new();
    task.spawn(sending);
    match task.join_next().await.expect("a task was spawned") {
        Ok(sent) => sent,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

impl HttpClient {
    /// New connections that present `identity`; `None` means the connection's own.
    fn new(connector: &Connector, identity: Option<&Identity>) -> Result<Self, ConnectError> {
        let roots = connector.roots();
        let service = connector.pool(identity, Protocol::Http1)?;
        Ok(Self { identity: identity.cloned(), service, streams: StreamPools::default(), roots })
    }
}

impl Inner {
    /// Sends a request over a connection that presents `identity`; `None` means the connection's own.
    async fn send(
        &self,
        identity: Option<&Identity>,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<ResponseBody>, TransportError> {
        if !is_quiet_watch(&request) {
            return self.send_over(Route::Own, identity, request).await;
        }
        // While it is not known what the server speaks, one request at a time asks.
        let asking = self.http2.ask().await;
        let route = match self.http2.is_spoken() {
            None => Route::Asking,
            Some(true) => Route::Shared(Protocol::Http2),
            Some(false) => Route::Shared(Protocol::Any),
        };
        let sent = self.send_over(route, identity, request).await;
        self.http2.learn(sent.as_ref().ok().map(Response::version));
        drop(asking);
        sent
    }

    async fn send_over(
        &self,
        route: Route,
        identity: Option<&Identity>,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<ResponseBody>, TransportError> {
        let Place { service, stream, roots } =
            self.place(route, identity).map_err(TransportError::Identity)?;
        let mut unanswered = Unanswered { inner: self, since: Some(Instant::now()) };
        let response = match service.oneshot(request.clone()).await {
            // Nothing was sent: the handshake failed.
            Err(error)
                if caused_by::<rustls::Error>(&error).is_some() && self.renew_roots(roots.as_ref()) =>
            {
                tracing::info!("the CA certificates have changed; connecting again");
                let Place { service, stream, .. } =
                    self.place(route, identity).map_err(TransportError::Identity)?;
                service.oneshot(request).await.map(|response| (response, stream))
            }
            response => response.map(|response| (response, stream)),
        };
        unanswered.since = None;
        let (response, stream) = response.map_err(TransportError::Http)?;
        Ok(response.map(|body| ResponseBody::new(body, stream)))
    }

    /// Whether connections may trust other CA certificates than `used`: the file was replaced, as a rotation does. From
    /// then on, connections are new.
    fn renew_roots(&self, used: Option<&Arc<[u8]>>) -> bool {
        let mut http = self.http();
        // Another request may have found the new ones already.
        if http.roots.as_ref() == used {
            let now = self.connector.roots();
            if now.as_ref() == used {
                return false;
            }
            return self.renew(&mut http);
        }
        true
    }

    /// From now on, connections are new; whether that is possible.
    fn renew(&self, http: &mut HttpClient) -> bool {
        let renewed = HttpClient::new(&self.connector, http.identity.as_ref());
        renewed.map(|renewed| *http = renewed).is_ok()
    }

    fn place(&self, route: Route, identity: Option<&Identity>) -> Result<Place, ConnectError> {
        let mut http = self.http();
        if http.identity.as_ref() != identity {
            *http = HttpClient::new(&self.connector, identity)?;
        }
        let roots = http.roots.clone();
        let (service, stream) = match route {
            Route::Own => (http.service.clone(), None),
            Route::Asking => (self.connector.pool(identity, Protocol::Any)?, None),
            Route::Shared(protocol) => {
                let open = || self.connector.pool(identity, protocol);
                let (service, stream) = http.streams.acquire(protocol, open)?;
                (service, Some(stream))
            }
        };
        Ok(Place { service, stream, roots })
    }

    fn http(&self) -> std::sync::MutexGuard<'_, HttpClient> {
        self.http.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which connections a request may use.
#[derive(Clone, Copy)]
enum Route {
    /// One that it has to itself.
    Own,
    /// A new one, which tells what the server speaks.
    Asking,
    /// One that it shares with other watches, if the server speaks this.
    Shared(Protocol),
}

/// The connection pool for a request.
struct Place {
    service: HttpService,
    /// Its place on a connection that it shares.
    stream: Option<Stream>,
    roots: Option<Arc<[u8]>>,
}

/// A request that has no response yet. If it is given up after a while, its connection may be dead, and so may the others
/// that are open to the same server: the next requests open new ones.
struct Unanswered<'a> {
    inner: &'a Inner,
    /// `None` once it has a response, or failed.
    since: Option<Instant>,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if self.since.is_some_and(|since| since.elapsed() >= self.inner.dead_after) {
            tracing::debug!("a request was given up without a response; connections are new from now on");
            self.inner.renew(&mut self.inner.http());
        }
    }
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
