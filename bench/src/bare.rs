//! A client that only sends and receives bytes: the lower bound for every other client.

use std::error::Error;

use bytes::Bytes;
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt as _;

/// Sends applies to one cluster.
pub struct Bare<C> {
    client: Client<C, Full<Bytes>>,
    server: String,
    authorization: Option<HeaderValue>,
}

/// A bare client for the cluster of `config`.
pub fn connect(
    config: &kube::Config,
) -> Result<Bare<impl Connect + Clone + Send + Sync + use<>>, Box<dyn Error>> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let connector = config.rustls_https_connector_with_connector(tcp)?;
    let bearer = |token| format!("Bearer {}", secrecy::ExposeSecret::expose_secret(token));
    let token = config.auth_info.token.as_ref().map(bearer);
    Ok(Bare {
        client: Client::builder(TokioExecutor::new()).build(connector),
        server: config.cluster_url.to_string().trim_end_matches('/').to_owned(),
        authorization: token.map(HeaderValue::try_from).transpose()?,
    })
}

impl<C: Connect + Clone + Send + Sync + 'static> Bare<C> {
    /// Applies `body` at `path`, which has its query; how many bytes the answer has.
    ///
    /// # Panics
    ///
    /// If the cluster does not take it, as then there is nothing to measure.
    pub async fn apply(&self, path: &str, body: Bytes) -> usize {
        let mut request = Request::patch(format!("{}{path}", self.server))
            .header(CONTENT_TYPE, "application/apply-patch+yaml")
            .body(Full::new(body))
            .expect("a sound request");
        if let Some(value) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, value.clone());
        }
        let answer = self.client.request(request).await.expect("the cluster answers");
        assert!(answer.status().is_success(), "{}", answer.status());
        answer.into_body().collect().await.expect("a whole answer").to_bytes().len()
    }
}
