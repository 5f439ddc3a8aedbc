//! A certificate authority: a key and a certificate that both sides trust.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData, date_time_ymd,
};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{CertificateError, Error, RootCertStore};
use sha2::{Digest, Sha256};

use super::IssueError;
use crate::tls::Pem;

/// The prefix of every authority's subject, by which a certificate names its issuer.
const NAME: &str = "Plimsoll function authority";
/// Ten years, as Crossplane issues.
pub const AUTHORITY_DAYS: u16 = 3650;

/// Issues certificates for an engine and its functions.
pub struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new one with a new key, valid from the day before `now`.
    pub fn create(days: u16, now: Timestamp) -> Result<Self, IssueError> {
        Self::of_key(KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?, days, now)
    }

    /// One that was stored.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, IssueError> {
        let key = KeyPair::from_pem(&String::from_utf8_lossy(key))?;
        let certificate = String::from_utf8_lossy(certificate).into_owned();
        Ok(Self { certificate, issuer: Issuer::new(Self::params(&key), key) })
    }

    /// The same authority with later dates. It keeps its key, so peers that trust either certificate accept what both have
    /// issued.
    pub fn renewed(&self, days: u16, now: Timestamp) -> Result<Self, IssueError> {
        Self::of_key(KeyPair::from_pem(&self.issuer.key().serialize_pem())?, days, now)
    }

    fn of_key(key: KeyPair, days: u16, now: Timestamp) -> Result<Self, IssueError> {
        let mut params = Self::params(&key);
        set_validity(&mut params, days, now);
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// Derived from the key alone, so that an authority can be reused without parsing its certificate. The name is unique
    /// per key: two authorities of one name would differ only in their signatures.
    fn params(key: &KeyPair) -> CertificateParams {
        let digest = Sha256::digest(key.subject_public_key_info());
        let name = format!("{NAME} {:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3]);
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params
    }

    /// The authority itself, to be stored.
    pub fn pem(&self) -> Pem {
        self.with_authority(self.certificate.clone(), &self.issuer.key().serialize_pem())
    }

    /// A certificate for the engine.
    pub fn issue_client(&self, days: u16, now: Timestamp) -> Result<Pem, IssueError> {
        self.issue("plimsoll", &[], ExtendedKeyUsagePurpose::ClientAuth, days, now)
    }

    /// A certificate for the function called `name`, valid for `sans`.
    pub fn issue_server(
        &self,
        name: &str,
        sans: &[String],
        days: u16,
        now: Timestamp,
    ) -> Result<Pem, IssueError> {
        self.issue(name, sans, ExtendedKeyUsagePurpose::ServerAuth, days, now)
    }

    fn issue(
        &self,
        name: &str,
        sans: &[String],
        usage: ExtendedKeyUsagePurpose,
        days: u16,
        now: Timestamp,
    ) -> Result<Pem, IssueError> {
        let mut params = CertificateParams::new(sans)?;
        set_validity(&mut params, days, now);
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        Ok(self.with_authority(params.signed_by(&key, &self.issuer)?.pem(), &key.serialize_pem()))
    }

    fn with_authority(&self, certificate: String, key: &str) -> Pem {
        let (certificate, key) = (certificate.into_bytes(), key.as_bytes().to_vec());
        Pem { certificate, key, authority: self.certificate.clone().into_bytes() }
    }

    /// Whether a peer that trusts this authority accepts a client certificate just issued.
    pub(super) fn is_usable(&self, client: &Pem, now: Timestamp) -> bool {
        let Some((authority, roots)) = self.trusted() else { return false };
        let Ok(client) = CertificateDer::from_pem_slice(&client.certificate) else { return false };
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider()).build();
        let Ok(verifier) = verifier else { return false };
        let verify = |certificate| verifier.verify_client_cert(certificate, &[], unix_time(now));
        // rustls ignores the dates of a trusted authority, but other implementations do not. Verified as a client
        // certificate, an authority is always refused, and for its expiry first.
        let is_expired = matches!(
            verify(&authority),
            Err(Error::InvalidCertificate(
                CertificateError::Expired | CertificateError::ExpiredContext { .. }
            ))
        );
        !is_expired && verify(&client).is_ok()
    }

    /// Whether an engine that trusts this authority accepts a function with `server` at the host `name`.
    pub(super) fn accepts(&self, server: &Pem, name: &str, now: Timestamp) -> bool {
        let Some((_, roots)) = self.trusted() else { return false };
        let (Ok(server), Ok(name)) =
            (CertificateDer::from_pem_slice(&server.certificate), ServerName::try_from(name))
        else {
            return false;
        };
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
        verifier.is_ok_and(|verifier| {
            verifier.verify_server_cert(&server, &[], &name, &[], unix_time(now)).is_ok()
        })
    }

    fn trusted(&self) -> Option<(CertificateDer<'static>, RootCertStore)> {
        let authority = CertificateDer::from_pem_slice(self.certificate.as_bytes()).ok()?;
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone()).ok()?;
        Some((authority, roots))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn unix_time(now: Timestamp) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(now.as_second().max(0).unsigned_abs()))
}

/// From the day before `now`, for clocks that are behind.
fn set_validity(params: &mut CertificateParams, days: u16, now: Timestamp) {
    let date = |date: jiff::civil::Date| {
        let positive = |number: i8| number.unsigned_abs();
        date_time_ymd(date.year().into(), positive(date.month()), positive(date.day()))
    };
    let today = now.to_zoned(TimeZone::UTC).date();
    params.not_before = date(today.saturating_sub(1.day()));
    params.not_after = date(today.saturating_add(i32::from(days).days()));
}
