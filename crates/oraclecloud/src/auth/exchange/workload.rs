//! The workload identity of a pod on a cluster of OKE: the cluster gives a token for the pod's service account.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http_body_util::Full;
use rustls::pki_types::CertificateDer;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::super::source::{Environment, required};
use super::super::{AuthError, certificate};
use super::ExchangeError;
use crate::connections::Connections;
use crate::error::ErrorKind;
use crate::key::GeneratedKey;

/// The port at which a cluster of OKE gives tokens.
const PORT: u16 = 12250;
const PATH: &str = "/resourcePrincipalSessionTokens";
const TOKEN_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";
const AUTHORITY_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
const PATIENCE: Duration = Duration::from_secs(15);

/// A pod, as its environment describes it.
pub(super) struct Workload {
    host: String,
    token_file: PathBuf,
    authority_file: PathBuf,
    pub(super) region: Option<String>,
}

impl Workload {
    pub(super) fn new(environment: Environment<'_>) -> Result<Self, AuthError> {
        let path = |name: &'static str, otherwise: &str| {
            required(environment, name).map_or_else(|_| otherwise.into(), PathBuf::from)
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

    /// A token for the key. Files are read anew: the token of an account is replaced every hour.
    pub(super) async fn token(&self, key: &GeneratedKey) -> Result<SecretString, ExchangeError> {
        let account = read(&self.token_file)?;
        let authorities = certificate::all(&read(&self.authority_file)?);
        let mut roots = rustls::RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(authorities.into_iter().map(CertificateDer::from));
        if added == 0 {
            return Err(ExchangeError::Authority { path: self.authority_file.clone() });
        }
        let at = self.address();
        let body = json!({"podKey": BASE64_STANDARD.encode(key.public_der())}).to_string();
        let mut bearer = HeaderValue::try_from(format!("Bearer {}", account.trim())).map_err(|_| {
            ExchangeError::Token {
                at: at.clone(),
                problem: "cannot be asked for: the account's token is no text",
            }
        })?;
        bearer.set_sensitive(true);
        let message = Request::post(&at)
            .header(AUTHORIZATION, bearer)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| ExchangeError::Token {
                at: at.clone(),
                problem: "cannot be asked for: it is no address",
            })?;
        // The authority may have been replaced, so connections are not kept.
        let connections = Connections::trusting_only(roots);
        let answer = connections.read(message, "resourcePrincipalSessionTokens", PATIENCE).await;
        let answer = answer.map_err(|source| {
            let is_forbidden = matches!(&source, ErrorKind::Response(answer) if answer.status == 403);
            let hint = if is_forbidden { "; workload identities need an enhanced cluster" } else { "" };
            ExchangeError::Issuer { at: at.clone(), hint, source: Box::new(source) }
        })?;
        unwrap(&answer).ok_or(ExchangeError::Token { at, problem: "has no token" })
    }
}

/// The token in an answer: JSON, in Base64, in quotes.
fn unwrap(answer: &[u8]) -> Option<SecretString> {
    let text = std::str::from_utf8(answer).ok()?.trim().trim_matches('"');
    let answer: Value = serde_json::from_slice(&BASE64_STANDARD.decode(text).ok()?).ok()?;
    answer.get("token").and_then(Value::as_str).map(SecretString::from)
}

fn read(path: &PathBuf) -> Result<String, ExchangeError> {
    std::fs::read_to_string(path).map_err(|source| ExchangeError::Account { path: path.clone(), source })
}
