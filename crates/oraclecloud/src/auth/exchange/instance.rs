//! An instance principal: the instance's metadata service has a certificate, and the authentication service issues a
//! token for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use http_body_util::Full;
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell};

use super::super::certificate;
use super::super::source::Environment;
use super::{Context, ExchangeError};
use crate::connections::Connections;
use crate::key::{GeneratedKey, PrivateKey};
use crate::sign::Signer;

const METADATA: &str = "http://169.254.169.254/opc/v2";
/// The service is on the same machine or does not exist.
const METADATA_TIMEOUT: Duration = Duration::from_secs(5);
const ISSUER_TIMEOUT: Duration = Duration::from_secs(15);

pub(crate) struct Instance {
    metadata: String,
    /// Whether it was not asked for by name.
    pub(in crate::auth) last_resort: bool,
    /// Whether the metadata service has ever responded.
    found: AtomicBool,
    region: OnceCell<String>,
    /// The tenancy of the first certificate.
    tenancy: Mutex<Option<String>>,
}

impl Instance {
    pub(super) fn new(environment: Environment<'_>, last_resort: bool) -> Self {
        let given =
            environment("OCI_METADATA_BASE_URL").map(|url| url.trim().trim_end_matches('/').to_owned());
        Self {
            metadata: given.filter(|url| !url.is_empty()).unwrap_or_else(|| METADATA.to_owned()),
            last_resort,
            found: AtomicBool::new(false),
            region: OnceCell::new(),
            tenancy: Mutex::default(),
        }
    }

    /// Its region, by identifier or key.
    pub(in crate::auth) async fn region(&self, connections: &Connections) -> Result<String, ExchangeError> {
        let ask = || async {
            let name = self.read(connections, "instance/region", "the region").await?;
            Ok(name.trim().to_owned())
        };
        self.region.get_or_try_init(ask).await.cloned()
    }

    /// A token for the key. The certificate is read every time: it is replaced several times a day.
    pub(super) async fn token(
        &self,
        key: &GeneratedKey,
        now: Timestamp,
        context: &Context<'_>,
    ) -> Result<SecretString, ExchangeError> {
        let read = |path, what| self.read(context.connections, path, what);
        let leaf = read("identity/cert.pem", "the certificate").await?;
        let leaf_key = read("identity/key.pem", "the key").await?;
        let intermediate = read("identity/intermediate.pem", "the intermediate certificate").await?;
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
            "publicKey": encode(key.public_der()),
            "intermediateCertificates": certificate::all(&intermediate).iter().map(|der| encode(der)).collect::<Vec<_>>(),
            "fingerprintAlgorithm": "SHA256",
        });
        self.request_token(&Signer::new(key_id, leaf_key), &body, now, context).await
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

    async fn request_token(
        &self,
        signer: &Signer,
        body: &Value,
        now: Timestamp,
        context: &Context<'_>,
    ) -> Result<SecretString, ExchangeError> {
        let uri = context.endpoints.federation(context.region);
        let at = uri.to_string();
        let body = Bytes::from(body.to_string());
        let mut message = Request::post(uri)
            .header(ACCEPT, "application/json")
            .body(Full::new(body.clone()))
            .expect("a parsed address and a valid header make a request");
        // The authentication service has many names, so the host is not signed.
        signer.sign_for_any_host(&mut message, &body, now);
        let response =
            context.connections.read(message, "x509", ISSUER_TIMEOUT).await.map_err(|source| {
                ExchangeError::Issuer { at: at.clone(), hint: "", source: Box::new(source) }
            })?;
        let response: Value = serde_json::from_slice(&response).unwrap_or_default();
        match response.get("token").and_then(Value::as_str) {
            Some(token) => Ok(token.into()),
            None => Err(ExchangeError::Token { at, problem: "the response contains none" }),
        }
    }

    /// Reads a text from the metadata service.
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
        match connections.read(message, "metadata", METADATA_TIMEOUT).await {
            Ok(text) => {
                self.found.store(true, Ordering::Relaxed);
                String::from_utf8(text.to_vec()).map_err(|_| ExchangeError::Identity {
                    what,
                    at,
                    source: None,
                })
            }
            // Outside of Oracle Cloud another server may have that address, so any error counts.
            Err(source) if self.last_resort && !self.found.load(Ordering::Relaxed) => {
                Err(ExchangeError::NotConfigured { at, source: Box::new(source) })
            }
            Err(source) => Err(ExchangeError::Metadata { at, what, source: Box::new(source) }),
        }
    }
}
