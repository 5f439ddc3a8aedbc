//! The workload identity of a pod on an OKE cluster: the cluster issues a token for the pod's service account.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http_body_util::Full;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::super::source::{Environment, required};
use super::super::{AuthError, certificate};
use super::ExchangeError;
use crate::connections::Connections;
use crate::error::ErrorKind;
use crate::key::GeneratedKey;

/// The port at which an OKE cluster issues tokens.
const PORT: u16 = 12250;
const PATH: &str = "/resourcePrincipalSessionTokens";
const TOKEN_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";
const AUTHORITY_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
const TIMEOUT: Duration = Duration::from_secs(15);

pub(super) struct Workload {
    host: String,
    token_file: PathBuf,
    authority_file: PathBuf,
    pub(super) region: Option<String>,
}

impl Workload {
    pub(super) fn new(environment: Environment<'_>) -> Result<Self, AuthError> {
        let path = |name: &'static str, default: &str| {
            required(environment, name).map_or_else(|_| default.into(), PathBuf::from)
        };
        Ok(Self {
            host: required(environment, "KUBERNETES_SERVICE_HOST")?,
            token_file: path("OCI_KUBERNETES_SERVICE_ACCOUNT_TOKEN_PATH", TOKEN_FILE),
            authority_file: path("OCI_KUBERNETES_SERVICE_ACCOUNT_CERT_PATH", AUTHORITY_FILE),
            region: required(environment, "OCI_RESOURCE_PRINCIPAL_REGION").ok(),
        })
    }

    pub(super) fn address(&self) -> String {
        // An IPv6 address needs brackets.
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("https://{host}:{PORT}{PATH}")
    }

    /// A token for the key. Files are read every time: the account's token is replaced every hour.
    pub(super) async fn token(&self, key: &GeneratedKey) -> Result<SecretString, ExchangeError> {
        let account = read(&self.token_file)?;
        let mut roots = rustls::RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(certificate::all(&read(&self.authority_file)?));
        if added == 0 {
            return Err(ExchangeError::Authority { path: self.authority_file.clone() });
        }
        let at = self.address();
        let body = json!({"podKey": BASE64_STANDARD.encode(key.public_der())}).to_string();
        let unusable = |problem| ExchangeError::Token { at: at.clone(), problem };
        let mut bearer = HeaderValue::try_from(format!("Bearer {}", account.trim()))
            .map_err(|_| unusable("the service account's token has invalid characters"))?;
        bearer.set_sensitive(true);
        let message = Request::post(&at)
            .header(AUTHORIZATION, bearer)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| unusable("the address is invalid"))?;
        // The authority may have been replaced, so connections are not kept.
        let connections = Connections::trusting_only(roots);
        let response = connections.read(message, "resourcePrincipalSessionTokens", TIMEOUT).await;
        let response = response.map_err(|source| {
            let is_forbidden = matches!(&source, ErrorKind::Response(response) if response.status == 403);
            let hint = if is_forbidden { "; workload identities need an enhanced cluster" } else { "" };
            ExchangeError::Issuer { at: at.clone(), hint, source: Box::new(source) }
        })?;
        parse_token(&response).ok_or_else(|| unusable("the response contains none"))
    }
}

/// The token in a response, which is JSON in Base64 in quotes.
fn parse_token(response: &[u8]) -> Option<SecretString> {
    let text = std::str::from_utf8(response).ok()?.trim().trim_matches('"');
    let response: Value = serde_json::from_slice(&BASE64_STANDARD.decode(text).ok()?).ok()?;
    response.get("token").and_then(Value::as_str).map(SecretString::from)
}

fn read(path: &PathBuf) -> Result<String, ExchangeError> {
    std::fs::read_to_string(path).map_err(|source| ExchangeError::Account { path: path.clone(), source })
}
