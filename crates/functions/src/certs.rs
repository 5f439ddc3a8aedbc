//! Issues the certificates by which an engine and its functions trust each other: one authority, and a folder for each
//! side.
//!
//! ```text
//! DIR/ca      the authority; kept if it exists, so that it can issue certificates for further functions
//! DIR/client  for the engine
//! DIR/server  for the function
//! ```
//!
//! Each folder has `tls.crt`, `tls.key` and `ca.crt`, ready to be mounted or turned into a Secret.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData, date_time_ymd,
};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{CertificateError, Error, RootCertStore};
use sha2::{Digest, Sha256};

use crate::tls::{AUTHORITY, CERTIFICATE, KEY};

/// The prefix of every authority's subject, by which a certificate names its issuer.
const AUTHORITY_NAME: &str = "Plimsoll function authority";
/// Ten years, as Crossplane issues.
const AUTHORITY_DAYS: u16 = 3650;

#[derive(Clone, Debug)]
pub struct IssueOptions {
    /// The function's Service: `name` or `name.namespace`, which covers `name`, `name.namespace` and `name.namespace.svc`
    /// as in Crossplane.
    pub name: String,
    /// Further names and addresses of the function.
    pub sans: Vec<String>,
    /// How long certificates are valid, in days. The authority outlives them, so that they can be renewed without
    /// replacing it on both sides.
    pub days: u16,
}

impl IssueOptions {
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), sans: Vec::new(), days: 365 }
    }

    fn names(&self) -> Vec<String> {
        let mut names = match self.name.split_once('.') {
            Some((service, namespace)) if !namespace.contains('.') => {
                vec![service.to_owned(), self.name.clone(), format!("{}.svc", self.name)]
            }
            _ => vec![self.name.clone()],
        };
        for san in &self.sans {
            if !names.contains(san) {
                names.push(san.clone());
            }
        }
        names
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    /// Whether the authority already existed.
    pub kept_authority: bool,
    pub authority: PathBuf,
    pub client: PathBuf,
    pub server: PathBuf,
    /// What the function's certificate is valid for.
    pub names: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error("cannot read or write {}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A name is not allowed in a certificate, or the authority's key is unusable.
    #[error("cannot issue a certificate")]
    Certificate(#[from] rcgen::Error),
    #[error(
        "the authority in {} cannot issue certificates: it has expired or was created by another program; move it away \
         to get a new one",
        folder.display()
    )]
    ForeignAuthority { folder: PathBuf },
}

/// Issues certificates in `out`, valid from the day before `now`. Those of client and server are replaced; an existing
/// authority is kept.
pub fn issue(out: &Path, options: &IssueOptions, now: Timestamp) -> Result<Issued, IssueError> {
    let validity = Validity::new(now, options.days);
    let issued = Issued {
        kept_authority: out.join("ca").join(KEY).exists(),
        authority: out.join("ca"),
        client: out.join("client"),
        server: out.join("server"),
        names: options.names(),
    };
    let authority = if issued.kept_authority {
        Authority::read(&issued.authority)?
    } else {
        let authority = Authority::create(Validity::new(now, options.days.max(AUTHORITY_DAYS)))?;
        authority.write(
            &issued.authority,
            &authority.certificate,
            &authority.issuer.key().serialize_pem(),
        )?;
        authority
    };
    let client = authority.issue("plimsoll", &[], ExtendedKeyUsagePurpose::ClientAuth, validity)?;
    if !authority.is_trusted_with(&client.0, now) {
        return Err(IssueError::ForeignAuthority { folder: issued.authority });
    }
    let server =
        authority.issue(&options.name, &issued.names, ExtendedKeyUsagePurpose::ServerAuth, validity)?;
    authority.write(&issued.client, &client.0, &client.1)?;
    authority.write(&issued.server, &server.0, &server.1)?;
    Ok(issued)
}

#[derive(Clone, Copy)]
struct Validity {
    from: jiff::civil::Date,
    until: jiff::civil::Date,
}

impl Validity {
    fn new(now: Timestamp, days: u16) -> Self {
        let today = now.to_zoned(TimeZone::UTC).date();
        Self { from: today.saturating_sub(1.day()), until: today.saturating_add(i32::from(days).days()) }
    }

    fn apply(self, params: &mut CertificateParams) {
        let date = |date: jiff::civil::Date| {
            let positive = |number: i8| number.unsigned_abs();
            date_time_ymd(date.year().into(), positive(date.month()), positive(date.day()))
        };
        params.not_before = date(self.from);
        params.not_after = date(self.until);
    }
}

struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn create(validity: Validity) -> Result<Self, IssueError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let mut params = Self::params(&key);
        validity.apply(&mut params);
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    fn read(folder: &Path) -> Result<Self, IssueError> {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|source| IssueError::File { path, source })
        };
        let key = KeyPair::from_pem(&read(KEY)?)?;
        Ok(Self { certificate: read(CERTIFICATE)?, issuer: Issuer::new(Self::params(&key), key) })
    }

    /// Derived from the key alone, so that an authority can be reused without parsing its certificate. The name is unique
    /// per key: two authorities of one name would differ only in their signatures.
    fn params(key: &KeyPair) -> CertificateParams {
        let digest = Sha256::digest(key.subject_public_key_info());
        let name =
            format!("{AUTHORITY_NAME} {:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3]);
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params
    }

    /// Returns a certificate and its key in PEM.
    fn issue(
        &self,
        name: &str,
        sans: &[String],
        usage: ExtendedKeyUsagePurpose,
        validity: Validity,
    ) -> Result<(String, String), IssueError> {
        let mut params = CertificateParams::new(sans)?;
        validity.apply(&mut params);
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        Ok((params.signed_by(&key, &self.issuer)?.pem(), key.serialize_pem()))
    }

    /// Whether a peer that trusts this authority accepts a client certificate just issued.
    fn is_trusted_with(&self, client: &str, now: Timestamp) -> bool {
        let parse = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes());
        let (Ok(authority), Ok(client)) = (parse(&self.certificate), parse(client)) else {
            return false;
        };
        let mut roots = RootCertStore::empty();
        let provider = Arc::new(aws_lc_rs::default_provider());
        if roots.add(authority.clone()).is_err() {
            return false;
        }
        let Ok(verifier) = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()
        else {
            return false;
        };
        let now = Duration::from_secs(now.as_second().try_into().unwrap_or_default());
        let verify =
            |certificate| verifier.verify_client_cert(certificate, &[], UnixTime::since_unix_epoch(now));
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

    /// Writes one folder. Files appear complete and readable by their owner only.
    fn write(&self, folder: &Path, certificate: &str, key: &str) -> Result<(), IssueError> {
        fs::create_dir_all(folder).map_err(|source| IssueError::File { path: folder.to_owned(), source })?;
        for (name, content) in
            [(AUTHORITY, self.certificate.as_str()), (CERTIFICATE, certificate), (KEY, key)]
        {
            let path = folder.join(name);
            write_atomically(folder, &path, content).map_err(|source| IssueError::File { path, source })?;
        }
        Ok(())
    }
}

/// A temporary file is readable by its owner only, and stays so when it is renamed.
fn write_atomically(folder: &Path, path: &Path, content: &str) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-15T12:00:00Z".parse().unwrap()
    }

    fn read(folder: &Path, name: &str) -> String {
        fs::read_to_string(folder.join(name)).unwrap()
    }

    #[test]
    fn each_folder_has_three_files_only_its_owner_can_read() {
        let out = tempfile::tempdir().unwrap();
        let issued = issue(out.path(), &IssueOptions::new("fn"), now()).unwrap();
        assert!(!issued.kept_authority);
        for folder in [&issued.authority, &issued.client, &issued.server] {
            for name in [CERTIFICATE, KEY, AUTHORITY] {
                let path = folder.join(name);
                assert!(read(folder, name).starts_with("-----BEGIN "), "{}", path.display());
                #[cfg(unix)]
                {
                    use std::os::unix::fs::PermissionsExt;
                    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
                }
            }
            assert_eq!(read(folder, AUTHORITY), read(&issued.authority, CERTIFICATE));
        }
    }

    #[test]
    fn an_authority_is_kept_and_the_certificates_are_renewed() {
        let out = tempfile::tempdir().unwrap();
        let first = issue(out.path(), &IssueOptions::new("fn"), now()).unwrap();
        let before = [&first.authority, &first.client, &first.server].map(|folder| read(folder, CERTIFICATE));
        let in_two_years = "2028-11-15T12:00:00Z".parse().unwrap();
        let second = issue(out.path(), &IssueOptions::new("other"), in_two_years).unwrap();
        let after =
            [&second.authority, &second.client, &second.server].map(|folder| read(folder, CERTIFICATE));
        assert!(second.kept_authority);
        let changed: Vec<_> = before.iter().zip(&after).map(|(before, after)| before != after).collect();
        assert_eq!(changed, [false, true, true]);
    }

    #[test]
    fn an_unusable_authority_is_refused_and_nothing_is_replaced() {
        let out = tempfile::tempdir().unwrap();
        let issued = issue(out.path(), &IssueOptions { days: 1, ..IssueOptions::new("fn") }, now()).unwrap();
        let before = read(&issued.server, CERTIFICATE);
        let later = "2036-11-20T12:00:00Z".parse().unwrap();
        let expired = issue(out.path(), &IssueOptions::new("fn"), later).unwrap_err();
        assert!(matches!(expired, IssueError::ForeignAuthority { .. }), "{expired}");

        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let foreign =
            CertificateParams::new(vec!["elsewhere".to_owned()]).unwrap().self_signed(&key).unwrap();
        fs::write(issued.authority.join(CERTIFICATE), foreign.pem()).unwrap();
        fs::write(issued.authority.join(KEY), key.serialize_pem()).unwrap();
        let foreign = issue(out.path(), &IssueOptions::new("fn"), now()).unwrap_err();
        assert!(matches!(foreign, IssueError::ForeignAuthority { .. }), "{foreign}");
        assert_eq!(read(&issued.server, CERTIFICATE), before);
    }

    #[test]
    fn a_service_has_the_names_that_crossplane_gives_it() {
        let names = |name: &str, sans: &[&str]| {
            IssueOptions { sans: sans.iter().map(ToString::to_string).collect(), ..IssueOptions::new(name) }
                .names()
        };
        assert_eq!(names("fn", &["localhost", "fn"]), ["fn", "localhost"]);
        assert_eq!(names("fn.system", &["127.0.0.1"]), ["fn", "fn.system", "fn.system.svc", "127.0.0.1"]);
        assert_eq!(names("fn.example.org", &[]), ["fn.example.org"]);
    }
}
