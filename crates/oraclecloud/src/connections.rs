//! Connections: a pool of them, TLS that trusts whom it should, and whole answers within bounds.

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

/// No answer of a control plane is anywhere near this.
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How servers know us.
pub(crate) const AGENT: &str = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));

/// Connections that clients share, whatever their credentials.
#[derive(Clone, Debug)]
pub struct Connections(legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl Connections {
    /// An empty pool, with TLS that trusts what the system trusts.
    pub fn new() -> Self {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let builder = HttpsConnectorBuilder::new().with_provider_and_native_roots(provider);
        Self::build(builder.unwrap_or_else(|error| {
            // A server on loopback needs none; https to anywhere else says that the issuer is unknown.
            tracing::warn!(%error, "the system has no certificates of authorities to trust");
            Self::trusting(rustls::RootCertStore::empty())
        }))
    }

    /// An empty pool that trusts these authorities and nobody else.
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
        // Which addresses may be spoken to without TLS is checked where an override is read.
        let connector = tls.https_or_http().enable_http1().wrap_connector(tcp);
        Self(legacy::Client::builder(TokioExecutor::new()).build(connector))
    }

    /// Sends a request and takes its whole answer.
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
        let body = match Limited::new(body, LARGEST_ANSWER).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(Problem::TooLarge(LARGEST_ANSWER)),
            Err(_) => Err(Problem::Truncated),
        };
        Ok(Received { status: parts.status, headers: parts.headers, body })
    }

    /// The body of an answer of success that comes within `patience`.
    pub(crate) async fn read(
        &self,
        mut message: http::Request<Full<Bytes>>,
        operation: &'static str,
        patience: Duration,
    ) -> Result<Bytes, ErrorKind> {
        message.headers_mut().insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let received = tokio::time::timeout(patience, self.send(message)).await;
        let received = received.unwrap_or(Err(ErrorKind::Timeout(patience)))?;
        let response = received.into_result(operation, Timestamp::now()).map_err(|error| error.kind)?;
        Ok(response.body.bytes)
    }
}

impl Default for Connections {
    fn default() -> Self {
        Self::new()
    }
}
