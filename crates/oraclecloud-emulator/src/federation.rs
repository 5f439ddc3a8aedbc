//! What vouches for the place a client runs in: the metadata service of an instance, the authentication service that
//! gives tokens for its certificate, and the one of a cluster that gives them for a service account.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::request::Parts;
use jiff::{SignedDuration, Timestamp};
use oraclecloud::key::{GeneratedKey, PublicKey};
use rcgen::{CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, PKCS_RSA_SHA256};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::identity::{REGION, TENANCY};
use crate::keys::Keys;
use crate::reply::{Refusal, Reply};
use crate::route::Operation;
use crate::verify::verify_certificate;

/// How long tokens are good for unless somebody says otherwise; as long as those of Oracle Cloud.
const LIFETIME: SignedDuration = SignedDuration::from_mins(20);

/// Everything that vouches for somebody.
pub(crate) struct Federation {
    instance: Option<Instance>,
    pub(crate) tenancy: String,
    pub(crate) lifetime: SignedDuration,
    /// The tokens of service accounts that are known; any when none is named.
    pub(crate) accounts: Vec<SecretString>,
}

/// An instance as its metadata service shows it.
struct Instance {
    certificate: String,
    certificate_der: Vec<u8>,
    key: GeneratedKey,
    intermediate: String,
    tenancy: String,
}

impl Default for Federation {
    fn default() -> Self {
        Self { instance: None, tenancy: TENANCY.to_owned(), lifetime: LIFETIME, accounts: Vec::new() }
    }
}

impl Federation {
    /// Answers a request that needs no signature of a known key, because getting one is what it is about.
    pub(crate) fn answer(
        &mut self,
        operation: Operation,
        path: &str,
        (parts, body): (&Parts, &Bytes),
        keys: &mut Keys,
        now: Timestamp,
    ) -> Result<Reply, Refusal> {
        match operation {
            Operation::GetInstanceMetadata => self.metadata(parts, path),
            Operation::IssueInstanceToken => self.instance_token(parts, body, keys, now),
            _ => self.workload_token(parts, body, keys, now),
        }
    }

    /// Gives the instance another certificate and another key, as happens several times a day; the old ones are good
    /// for nothing any more.
    pub(crate) fn rotate(&mut self) {
        self.instance = None;
    }

    fn metadata(&mut self, parts: &Parts, path: &str) -> Result<Reply, Refusal> {
        if header(parts, "authorization") != Some("Bearer Oracle") {
            return Err(Refusal::unauthenticated(
                "The metadata service wants `Authorization: Bearer Oracle`.",
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
            _ => Err(Refusal::no_route()),
        }
    }

    fn instance_token(
        &mut self,
        parts: &Parts,
        body: &Bytes,
        keys: &mut Keys,
        now: Timestamp,
    ) -> Result<Reply, Refusal> {
        let lifetime = self.lifetime;
        let instance = self.instance();
        let asked: Value =
            serde_json::from_slice(body).map_err(|error| Refusal::unparsable(error.to_string()))?;
        let decoded = |text: &str| BASE64_STANDARD.decode(text).unwrap_or_default();
        if decoded(text(&asked, "certificate")?) != instance.certificate_der {
            return Err(Refusal::unauthenticated("The certificate is not that of the instance."));
        }
        let key = PublicKey::from_pem(&instance.key.public_pem).expect("a key that was made can be read");
        verify_certificate(parts, body, &instance.tenancy, &instance.certificate_der, &key, now)?;
        Ok(Reply::json(json!({"token": issue(&asked, "publicKey", lifetime, keys, now)?})))
    }

    fn workload_token(
        &mut self,
        parts: &Parts,
        body: &Bytes,
        keys: &mut Keys,
        now: Timestamp,
    ) -> Result<Reply, Refusal> {
        let account = header(parts, "authorization").and_then(|value| value.strip_prefix("Bearer "));
        let known = |account: &str| {
            self.accounts.is_empty() || self.accounts.iter().any(|known| known.expose_secret() == account)
        };
        if !account.is_some_and(|account| !account.is_empty() && known(account)) {
            return Err(Refusal::unauthenticated("The service account is not known."));
        }
        let asked: Value =
            serde_json::from_slice(body).map_err(|error| Refusal::unparsable(error.to_string()))?;
        let token = issue(&asked, "podKey", self.lifetime, keys, now)?;
        let answer = json!({"token": format!("ST${token}")}).to_string();
        Ok(Reply::json(Value::String(BASE64_STANDARD.encode(answer))))
    }

    /// The instance; made when somebody asks for it, since making keys takes a while.
    fn instance(&mut self) -> &Instance {
        let tenancy = &self.tenancy;
        self.instance.get_or_insert_with(|| Instance::make(tenancy))
    }
}

impl Instance {
    fn make(tenancy: &str) -> Self {
        const MADE: &str = "a certificate with a fresh key can be made";
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        authority.distinguished_name.push(DnType::CommonName, "PKISVC Identity Intermediate");
        let authority =
            CertifiedIssuer::self_signed(authority, KeyPair::generate().expect(MADE)).expect(MADE);
        let key = GeneratedKey::generate().expect(MADE);
        let pair = KeyPair::from_pkcs8_pem_and_sign_algo(key.private_pem.expose_secret(), &PKCS_RSA_SHA256)
            .expect(MADE);
        let mut leaf = CertificateParams::default();
        leaf.distinguished_name.push(DnType::CommonName, "ocid1.instance.oc1.phx.plimsoll");
        leaf.distinguished_name.push(DnType::OrganizationalUnitName, format!("opc-tenant:{tenancy}"));
        let leaf = leaf.signed_by(&pair, &authority).expect(MADE);
        Self {
            certificate: leaf.pem(),
            certificate_der: leaf.der().to_vec(),
            key,
            intermediate: authority.pem(),
            tenancy: tenancy.to_owned(),
        }
    }
}

/// A token for the key that the request names.
fn issue(
    asked: &Value,
    field: &str,
    lifetime: SignedDuration,
    keys: &mut Keys,
    now: Timestamp,
) -> Result<String, Refusal> {
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", text(asked, field)?);
    let key =
        PublicKey::from_pem(&pem).ok_or_else(|| Refusal::invalid(format!("{field} is no public key.")))?;
    Ok(keys.issue(key, now + lifetime))
}

fn text<'a>(asked: &'a Value, name: &str) -> Result<&'a str, Refusal> {
    asked.get(name).and_then(Value::as_str).ok_or_else(|| Refusal::missing(name))
}

fn header<'a>(parts: &'a Parts, name: &str) -> Option<&'a str> {
    parts.headers.get(name)?.to_str().ok()
}
