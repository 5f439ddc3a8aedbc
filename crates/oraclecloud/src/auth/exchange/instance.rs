//! An instance principal: the metadata service of the instance has a certificate, and the authentication service
//! gives a token for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use http::{Method, Request};
use http_body_util::Full;
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell};

use super::super::certificate;
use super::super::source::Environment;
use super::{ExchangeError, Means};
use crate::connections::Connections;
use crate::key::{GeneratedKey, PrivateKey};
use crate::sign::Signer;

/// Where instances find out about themselves.
const METADATA: &str = "http://169.254.169.254/opc/v2";
/// The service is on the same machine, or not there at all.
const PATIENCE: Duration = Duration::from_secs(5);
const ISSUER_PATIENCE: Duration = Duration::from_secs(15);

/// An instance, as its metadata service knows it.
pub(super) struct Instance {
    metadata: String,
    pub(super) implied: bool,
    /// Whether the metadata service is known to be there.
    found: AtomicBool,
    region: OnceCell<String>,
    /// Whose it was when we first asked.
    tenancy: Mutex<Option<String>>,
}

impl Instance {
    pub(super) fn new(environment: Environment<'_>, implied: bool) -> Self {
        let given =
            environment("OCI_METADATA_BASE_URL").map(|url| url.trim().trim_end_matches('/').to_owned());
        Self {
            metadata: given.filter(|url| !url.is_empty()).unwrap_or_else(|| METADATA.to_owned()),
            implied,
            found: AtomicBool::new(false),
            region: OnceCell::new(),
            tenancy: Mutex::default(),
        }
    }

    /// The region it is in, by identifier or key.
    pub(super) async fn region(&self, connections: &Connections) -> Result<String, ExchangeError> {
        let ask = || async {
            let name = self.read(connections, "instance/region", "the region").await?;
            Ok(name.trim().to_owned())
        };
        self.region.get_or_try_init(ask).await.cloned()
    }

    /// A token for the key. The certificate is asked for anew: it is replaced several times a day.
    pub(super) async fn token(
        &self,
        key: &GeneratedKey,
        now: Timestamp,
        means: &Means<'_>,
    ) -> Result<SecretString, ExchangeError> {
        let of = means.connections;
        let leaf = self.read(of, "identity/cert.pem", "the certificate").await?;
        let leaf_key = self.read(of, "identity/key.pem", "the key").await?;
        let intermediate = self.read(of, "identity/intermediate.pem", "the intermediate certificate").await?;
        let unusable = |what, source| ExchangeError::Identity { what, at: self.metadata.clone(), source };
        let leaf =
            certificate::all(&leaf).into_iter().next().ok_or_else(|| unusable("the certificate", None))?;
        let leaf_key = PrivateKey::from_pem(&leaf_key.into(), None)
            .map_err(|source| unusable("the key", Some(source)))?;
        let tenancy = certificate::tenancy(&leaf).ok_or(ExchangeError::NoTenancy)?;
        self.check_tenancy(&tenancy).await?;
        let key_id = format!("{tenancy}/fed-x509-sha256/{}", certificate::fingerprint(&leaf));
        if !super::super::load::is_header_safe(&key_id) {
            return Err(unusable("the certificate", None));
        }
        let encode = |der: &[u8]| BASE64_STANDARD.encode(der);
        let body = json!({
            "certificate": encode(&leaf),
            "publicKey": encode(&key.public_der()),
            "intermediateCertificates": certificate::all(&intermediate).iter().map(|it| encode(it)).collect::<Vec<_>>(),
            "fingerprintAlgorithm": "SHA256",
        });
        self.ask_issuer(&Signer::new(key_id, leaf_key), &body, now, means).await
    }

    async fn check_tenancy(&self, tenancy: &str) -> Result<(), ExchangeError> {
        let mut known = self.tenancy.lock().await;
        match known.as_deref() {
            Some(before) if before != tenancy => {
                Err(ExchangeError::Tenancy { before: before.to_owned(), now: tenancy.to_owned() })
            }
            _ => {
                *known = Some(tenancy.to_owned());
                Ok(())
            }
        }
    }

    async fn ask_issuer(
        &self,
        signer: &Signer,
        body: &Value,
        now: Timestamp,
        means: &Means<'_>,
    ) -> Result<SecretString, ExchangeError> {
        let uri = means.endpoints.federation(means.region);
        let at = uri.to_string();
        let body = Bytes::from(body.to_string());
        let mut message = Request::new(Full::new(body.clone()));
        message.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        // The authentication service is known by many names, so that the host is not signed.
        signer.sign_for_any_host(&Method::POST, &uri, message.headers_mut(), &body, now);
        *message.method_mut() = Method::POST;
        *message.uri_mut() = uri;
        let answer =
            means.connections.read(message, "x509", ISSUER_PATIENCE).await.map_err(|source| {
                ExchangeError::Issuer { at: at.clone(), hint: "", source: Box::new(source) }
            })?;
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        match answer.get("token").and_then(Value::as_str) {
            Some(token) => Ok(token.into()),
            None => Err(ExchangeError::Token { at, problem: "has no token" }),
        }
    }

    /// A text of the metadata service.
    async fn read(
        &self,
        connections: &Connections,
        path: &str,
        what: &'static str,
    ) -> Result<String, ExchangeError> {
        let at = self.metadata.clone();
        let address = format!("{at}/{path}");
        let Ok(mut message) = Request::get(address).body(Full::default()) else {
            return Err(ExchangeError::Identity { what: "the address", at, source: None });
        };
        message.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static("Bearer Oracle"));
        match connections.read(message, "metadata", PATIENCE).await {
            Ok(text) => {
                self.found.store(true, Ordering::Relaxed);
                String::from_utf8(text.to_vec()).map_err(|_| ExchangeError::Identity {
                    what,
                    at,
                    source: None,
                })
            }
            // Whatever else is at that address may answer as well.
            Err(source) if self.implied && !self.found.load(Ordering::Relaxed) => {
                Err(ExchangeError::Nobody { at, source: Box::new(source) })
            }
            Err(source) => Err(ExchangeError::Metadata { at, what, source: Box::new(source) }),
        }
    }
}
