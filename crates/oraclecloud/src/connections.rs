//! A pool of connections with TLS, and whole responses of bounded size.

use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderValue, USER_AGENT};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper_rustls::builderstates::WantsSchemes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;

use crate::error::{ErrorKind, Problem};
use crate::response::Received;

/// Far beyond any response of a control plane.
const MAX_RESPONSE: usize = 16 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
pub(crate) const USER_AGENT_NAME: &str = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));

/// A pool that clients share, whatever their credentials.
#[derive(Clone, Debug)]
pub struct Connections(legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl Connections {
    /// An empty pool that trusts the system's authorities.
    pub fn new() -> Self {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let builder = HttpsConnectorBuilder::new().with_provider_and_native_roots(provider);
        Self::build(builder.unwrap_or_else(|error| {
            // A server on loopback needs none; https to any other host fails with an unknown issuer.
            tracing::warn!(%error, "the system has no trusted certificate authorities");
            Self::trusting(rustls::RootCertStore::empty())
        }))
    }

    /// An empty pool that trusts these authorities only.
    pub(crate) fn trusting_only(roots: rustls::RootCertStore) -> Self {
        Self::build(Self::trusting(roots))
    }

    fn trusting(roots: rustls::RootCertStore) -> HttpsConnectorBuilder<WantsSchemes> {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let config = rustls::ClientConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()
            .expect("the provider supports the protocol versions that rustls considers safe")
            .with_root_certificates(roots)
            .with_no_client_auth();
        HttpsConnectorBuilder::new().with_tls_config(config)
    }

    fn build(tls: HttpsConnectorBuilder<WantsSchemes>) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        tcp.set_nodelay(true);
        // Plain http is restricted where endpoint overrides are parsed.
        let connector = tls.https_or_http().enable_http1().wrap_connector(tcp);
        Self(legacy::Client::builder(TokioExecutor::new()).build(connector))
    }

    /// Sends a request and reads the whole response.
    pub(crate) async fn send(&self, message: http::Request<Full<Bytes>>) -> Result<Received, ErrorKind> {
        let host = message.uri().authority().map(ToString::to_string).unwrap_or_default();
        let response = self.0.request(message).await.map_err(|source| {
            if source.is_connect() {
                ErrorKind::Unreachable { host, source }
            } else {
                ErrorKind::Interrupted { host, source }
            }
        })?;
        let (parts, body) = response.into_parts();
        let body = match Limited::new(body, MAX_RESPONSE).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(Problem::TooLarge(MAX_RESPONSE)),
            Err(_) => Err(Problem::Truncated),
        };
        Ok(Received { status: parts.status, headers: parts.headers, body })
    }

    /// Sends a request and returns the body of a successful response that arrives within `timeout`.
    pub(crate) async fn read(
        &self,
        mut message: http::Request<Full<Bytes>>,
        operation: &'static str,
        timeout: Duration,
    ) -> Result<Bytes, ErrorKind> {
        message.headers_mut().insert(USER_AGENT, HeaderValue::from_static(USER_AGENT_NAME));
        let received = tokio::time::timeout(timeout, self.send(message)).await;
        let received = received.unwrap_or(Err(ErrorKind::Timeout(timeout)))?;
        let response = received.into_result(operation, Timestamp::now()).map_err(|error| error.kind)?;
        Ok(response.body.bytes)
    }
}

impl Default for Connections {
    fn default() -> Self {
        Self::new()
    }
}
