//! Credentials from the environment of a client: the metadata service of an instance, the authentication service that
//! issues tokens for its certificate, and a cluster that issues them for service accounts.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::request::Parts;
use jiff::{SignedDuration, Timestamp};
use oraclecloud::key::{GeneratedKey, PublicKey};
use rcgen::{CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, PKCS_RSA_SHA256};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::ids::{REGION, TENANCY};
use crate::keys::Keys;
use crate::reply::{ApiError, Reply};
use crate::route::{Operation, header};
use crate::verify::verify_certificate;

/// The lifetime of Oracle Cloud's tokens.
const LIFETIME: SignedDuration = SignedDuration::from_mins(20);

pub(crate) struct Federation {
    pub(crate) keys: Keys,
    instance: Option<Instance>,
    pub(crate) tenancy: String,
    pub(crate) lifetime: SignedDuration,
    /// The tokens of trusted service accounts; empty trusts all of them.
    pub(crate) accounts: Vec<SecretString>,
}

/// An instance as its metadata service presents it.
struct Instance {
    certificate: String,
    certificate_der: Vec<u8>,
    key: GeneratedKey,
    intermediate: String,
    tenancy: String,
}

impl Federation {
    pub(crate) fn new(keys: Keys) -> Self {
        Self { keys, instance: None, tenancy: TENANCY.to_owned(), lifetime: LIFETIME, accounts: Vec::new() }
    }

    /// Handles a request that needs no signature of a known key, because it serves to get one.
    pub(crate) fn handle(
        &mut self,
        operation: Operation,
        path: &str,
        parts: &Parts,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Reply, ApiError> {
        match operation {
            Operation::GetInstanceMetadata => self.metadata(parts, path),
            Operation::IssueInstanceToken => self.instance_token(parts, body, now),
            _ => self.workload_token(parts, body, now),
        }
    }

    /// Replaces the instance's certificate and key, as happens several times a day.
    pub(crate) fn rotate(&mut self) {
        self.instance = None;
    }

    fn metadata(&mut self, parts: &Parts, path: &str) -> Result<Reply, ApiError> {
        if header(&parts.headers, "authorization") != Some("Bearer Oracle") {
            return Err(ApiError::unauthenticated(
                "The metadata service requires `Authorization: Bearer Oracle`.",
            ));
        }
        if path == "instance/region" {
            return Ok(Reply::text(REGION.to_owned()));
        }
        let instance = self.instance();
        match path {
            "identity/cert.pem" => Ok(Reply::text(instance.certificate.clone())),
            "identity/key.pem" => Ok(Reply::text(instance.key.private_pem.expose_secret().to_owned())),
            "identity/intermediate.pem" => Ok(Reply::text(instance.intermediate.clone())),
            _ => Err(ApiError::no_route()),
        }
    }

    fn instance_token(&mut self, parts: &Parts, body: &[u8], now: Timestamp) -> Result<Reply, ApiError> {
        let request = parse(body)?;
        let instance = self.instance();
        let certificate = BASE64_STANDARD.decode(text(&request, "certificate")?).unwrap_or_default();
        if certificate != instance.certificate_der {
            return Err(ApiError::unauthenticated("The certificate is not that of the instance."));
        }
        let key = PublicKey::from_pem(&instance.key.public_pem).expect("a generated key is valid");
        verify_certificate(parts, body, &instance.tenancy, &instance.certificate_der, &key, now)?;
        Ok(Reply::json(json!({"token": self.issue(&request, "publicKey", now)?})))
    }

    fn workload_token(&mut self, parts: &Parts, body: &[u8], now: Timestamp) -> Result<Reply, ApiError> {
        let account = header(&parts.headers, "authorization").and_then(|value| value.strip_prefix("Bearer "));
        let is_trusted = |account: &str| {
            self.accounts.is_empty() || self.accounts.iter().any(|known| known.expose_secret() == account)
        };
        if !account.is_some_and(|account| !account.is_empty() && is_trusted(account)) {
            return Err(ApiError::unauthenticated("The service account is unknown."));
        }
        let token = self.issue(&parse(body)?, "podKey", now)?;
        let response = json!({"token": format!("ST${token}")}).to_string();
        Ok(Reply::json(Value::String(BASE64_STANDARD.encode(response))))
    }

    /// Issues a token for the public key in a field of the request.
    fn issue(&mut self, request: &Value, field: &str, now: Timestamp) -> Result<String, ApiError> {
        let encoded = text(request, field)?;
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{encoded}\n-----END PUBLIC KEY-----\n");
        let key = PublicKey::from_pem(&pem)
            .ok_or_else(|| ApiError::invalid(format!("{field} is not a public key.")))?;
        Ok(self.keys.issue(key, now + self.lifetime))
    }

    /// Created on first use, since generating keys takes a while.
    fn instance(&mut self) -> &Instance {
        let tenancy = &self.tenancy;
        self.instance.get_or_insert_with(|| Instance::generate(tenancy))
    }
}

impl Instance {
    fn generate(tenancy: &str) -> Self {
        const VALID: &str = "the parameters of the certificate are valid";
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        authority.distinguished_name.push(DnType::CommonName, "PKISVC Identity Intermediate");
        let authority =
            CertifiedIssuer::self_signed(authority, KeyPair::generate().expect(VALID)).expect(VALID);
        let key = GeneratedKey::generate().expect(VALID);
        let pair = KeyPair::from_pkcs8_pem_and_sign_algo(key.private_pem.expose_secret(), &PKCS_RSA_SHA256)
            .expect(VALID);
        let mut leaf = CertificateParams::default();
        leaf.distinguished_name.push(DnType::CommonName, "ocid1.instance.oc1.phx.plimsoll");
        leaf.distinguished_name.push(DnType::OrganizationalUnitName, format!("opc-tenant:{tenancy}"));
        let leaf = leaf.signed_by(&pair, &authority).expect(VALID);
        Self {
            certificate: leaf.pem(),
            certificate_der: leaf.der().to_vec(),
            key,
            intermediate: authority.pem(),
            tenancy: tenancy.to_owned(),
        }
    }
}

fn parse(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::unparsable(error.to_string()))
}

fn text<'a>(request: &'a Value, name: &str) -> Result<&'a str, ApiError> {
    request.get(name).and_then(Value::as_str).ok_or_else(|| ApiError::missing(name))
}
