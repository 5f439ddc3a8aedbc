//! Opens connections to a server: through a proxy if there is one, over TLS, and as a client with a certificate.
//!
//! TLS itself is kube's: its `Config` becomes a connector.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::builderstates::WantsProtocols1;
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::ConfigExt as _;
use tower::timeout::Timeout;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceExt as _};

use super::ConnectError;
use super::pem::Identity;

/// How long a TCP connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The same including TLS and the proxy, which may accept a connection and then stay silent.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);
/// After this much silence the connection is probed, so that a watch notices a dead server. What was sent may remain
/// unacknowledged for as long.
const KEEPALIVE: Duration = Duration::from_secs(30);

pub(super) type HttpService = BoxCloneSyncService<Request<Full<Bytes>>, Response<Incoming>, legacy::Error>;

/// What connections of a pool speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// One request at a time.
    Http1,
    /// Many, if the server speaks HTTP/2 too.
    Any,
    /// Many. A server that does not speak it cannot be reached.
    Http2,
}

/// How to connect to the server.
pub(super) struct Connector {
    pub(super) config: kube::Config,
    pub(super) proxy: Option<Intercept>,
    pub(super) identity: Option<Identity>,
    /// How long a connection may take, including proxy and TLS.
    pub(super) timeout: Duration,
}

impl Connector {
    /// The file of CA certificates as it is now, if there is one.
    pub(super) fn roots(&self) -> Option<Arc<[u8]>> {
        std::fs::read(self.config.root_cert_file.as_ref()?).ok().map(Arc::from)
    }

    /// A new connection pool that presents `identity`; `None` means the connection's own.
    pub(super) fn pool(
        &self,
        identity: Option<&Identity>,
        protocol: Protocol,
    ) -> Result<HttpService, ConnectError> {
        // The only possible failure is that a provider is already installed.
        let _: Result<(), _> = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        tcp.set_keepalive(Some(KEEPALIVE));
        tcp.set_keepalive_interval(Some(KEEPALIVE));
        #[cfg(target_os = "linux")]
        tcp.set_tcp_user_timeout(Some(KEEPALIVE));
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
            Protocol::Any => http2_builder(config)?.enable_all_versions().wrap_connector(route),
            Protocol::Http2 => http2_builder(config)?.enable_http2().wrap_connector(route),
        };
        // Boxed, because the pool requires `Unpin` futures.
        let connector = Timeout::new(tls, self.timeout).map_future(Box::pin);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(90))
            .timer(TokioTimer::new())
            .http2_keep_alive_interval(KEEPALIVE)
            .http2_keep_alive_while_idle(true)
            // Then the pool opens one connection, however many requests come before it is there.
            .http2_only(matches!(protocol, Protocol::Http2))
            .build::<_, Full<Bytes>>(connector);
        Ok(BoxCloneSyncService::new(client))
    }
}

/// Connectors that offer HTTP/2, which kube's does not, and are otherwise the same.
fn http2_builder(config: &kube::Config) -> Result<HttpsConnectorBuilder<WantsProtocols1>, ConnectError> {
    let tls = config.rustls_client_config().map_err(unusable)?;
    let mut builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = name.clone().try_into().map_err(|error| ConnectError::Tls(Box::new(error)))?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    Ok(builder)
}

fn unusable(error: kube::Error) -> ConnectError {
    ConnectError::Tls(error.into())
}
