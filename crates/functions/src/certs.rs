//! Makes the certificates with which an engine and its functions know each other: one authority, and a folder each.
//!
//! ```text
//! DIR/ca      the authority; kept when it is there, so that further functions can be given certificates of it
//! DIR/client  for the engine
//! DIR/server  for the function
//! ```
//!
//! Each folder has `tls.crt`, `tls.key` and `ca.crt`, so that each can be mounted or made into a Secret as it is.

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

/// The subject of every authority made here begins so; a certificate names its issuer by it.
const AUTHORITY_NAME: &str = "Plimsoll function authority";

/// What is to be made.
#[derive(Clone, Debug)]
pub struct Order {
    /// The Service of the function: `name` or `name.namespace`, which stands for `name`, `name.namespace` and
    /// `name.namespace.svc` as in the reference.
    pub name: String,
    /// Further names and addresses the function is called by.
    pub sans: Vec<String>,
    /// For how many days the certificates hold; ten years in the reference.
    pub days: u16,
}

impl Order {
    /// An order for the function `name`, for ten years.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), sans: Vec::new(), days: 3650 }
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

/// What was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Whether the authority was already there.
    pub kept_authority: bool,
    /// The folder of the authority.
    pub authority: PathBuf,
    /// The folder for the engine.
    pub client: PathBuf,
    /// The folder for the function.
    pub server: PathBuf,
    /// The names and addresses the function's certificate is for.
    pub names: Vec<String>,
}

/// Certificates could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// A file or folder could not be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A name cannot be in a certificate, or the key of the authority cannot be used.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// The authority in the folder was made by something else, or has expired.
    #[error(
        "the authority in {} cannot issue certificates: it has expired or was made by another program; move it away to \
         get a new one",
        folder.display()
    )]
    ForeignAuthority {
        /// The folder of the authority.
        folder: PathBuf,
    },
}

/// Makes certificates in `out` that hold from the day before `now`. What is there for client and server is replaced; the
/// authority stays.
pub fn make(out: &Path, order: &Order, now: Timestamp) -> Result<Made, MakeError> {
    let validity = Validity::new(now, order.days);
    let made = Made {
        kept_authority: out.join("ca").join(KEY).exists(),
        authority: out.join("ca"),
        client: out.join("client"),
        server: out.join("server"),
        names: order.names(),
    };
    let authority = if made.kept_authority {
        Authority::read(&made.authority)?
    } else {
        let authority = Authority::make(validity)?;
        authority.write(&made.authority, &authority.certificate, &authority.issuer.key().serialize_pem())?;
        authority
    };
    let client = authority.issue("plimsoll", &[], ExtendedKeyUsagePurpose::ClientAuth, validity)?;
    if !authority.vouches_for(&client.0, now) {
        return Err(MakeError::ForeignAuthority { folder: made.authority });
    }
    let server = authority.issue(&order.name, &made.names, ExtendedKeyUsagePurpose::ServerAuth, validity)?;
    authority.write(&made.client, &client.0, &client.1)?;
    authority.write(&made.server, &server.0, &server.1)?;
    Ok(made)
}

/// From when until when, in whole days.
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

/// An authority with its key.
struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn make(validity: Validity) -> Result<Self, MakeError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let mut params = Self::params(&key);
        validity.apply(&mut params);
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    fn read(folder: &Path) -> Result<Self, MakeError> {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|source| MakeError::File { path, source })
        };
        let key = KeyPair::from_pem(&read(KEY)?)?;
        Ok(Self { certificate: read(CERTIFICATE)?, issuer: Issuer::new(Self::params(&key), key) })
    }

    /// What follows from the key alone, so that an authority can be used again without parsing its certificate. Each has a
    /// name of its own: two of one name would be told apart by a bad signature only.
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

    /// A certificate and its key.
    fn issue(
        &self,
        name: &str,
        sans: &[String],
        usage: ExtendedKeyUsagePurpose,
        validity: Validity,
    ) -> Result<(String, String), MakeError> {
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

    /// Whether a client certificate that was just issued is accepted by whoever trusts our certificate.
    fn vouches_for(&self, client: &str, now: Timestamp) -> bool {
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
        // rustls does not look at the dates of an authority it trusts, but other implementations do. As the certificate of
        // a client an authority is refused in any case, and first of all if it has expired.
        let is_expired = matches!(
            verify(&authority),
            Err(Error::InvalidCertificate(
                CertificateError::Expired | CertificateError::ExpiredContext { .. }
            ))
        );
        !is_expired && verify(&client).is_ok()
    }

    /// Writes one folder; each file appears whole and is readable by its owner only.
    fn write(&self, folder: &Path, certificate: &str, key: &str) -> Result<(), MakeError> {
        fs::create_dir_all(folder).map_err(|source| MakeError::File { path: folder.to_owned(), source })?;
        for (name, content) in
            [(AUTHORITY, self.certificate.as_str()), (CERTIFICATE, certificate), (KEY, key)]
        {
            let path = folder.join(name);
            write_whole(folder, &path, content).map_err(|source| MakeError::File { path, source })?;
        }
        Ok(())
    }
}

/// A temporary file is made readable by its owner only, and keeps that when it gets its name.
fn write_whole(folder: &Path, path: &Path, content: &str) -> io::Result<()> {
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
    fn each_folder_has_the_three_files_for_its_owner_only() {
        let out = tempfile::tempdir().unwrap();
        let made = make(out.path(), &Order::new("fn"), now()).unwrap();
        assert!(!made.kept_authority);
        for folder in [&made.authority, &made.client, &made.server] {
            for name in [CERTIFICATE, KEY, AUTHORITY] {
                let path = folder.join(name);
                assert!(read(folder, name).starts_with("-----BEGIN "), "{}", path.display());
                #[cfg(unix)]
                {
                    use std::os::unix::fs::PermissionsExt;
                    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
                }
            }
            assert_eq!(read(folder, AUTHORITY), read(&made.authority, CERTIFICATE));
        }
    }

    #[test]
    fn an_authority_is_kept_and_the_others_are_renewed() {
        let out = tempfile::tempdir().unwrap();
        let first = make(out.path(), &Order::new("fn"), now()).unwrap();
        let before = [&first.authority, &first.client, &first.server].map(|folder| read(folder, CERTIFICATE));
        let second = make(out.path(), &Order::new("other"), now()).unwrap();
        let after =
            [&second.authority, &second.client, &second.server].map(|folder| read(folder, CERTIFICATE));
        assert!(second.kept_authority);
        let changed: Vec<_> = before.iter().zip(&after).map(|(before, after)| before != after).collect();
        assert_eq!(changed, [false, true, true]);
    }

    #[test]
    fn an_authority_that_cannot_issue_is_refused_and_nothing_is_replaced() {
        let out = tempfile::tempdir().unwrap();
        let made = make(out.path(), &Order { days: 1, ..Order::new("fn") }, now()).unwrap();
        let before = read(&made.server, CERTIFICATE);
        let later = "2027-11-15T12:00:00Z".parse().unwrap();
        let expired = make(out.path(), &Order::new("fn"), later).unwrap_err();
        assert!(matches!(expired, MakeError::ForeignAuthority { .. }), "{expired}");

        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let foreign =
            CertificateParams::new(vec!["elsewhere".to_owned()]).unwrap().self_signed(&key).unwrap();
        fs::write(made.authority.join(CERTIFICATE), foreign.pem()).unwrap();
        fs::write(made.authority.join(KEY), key.serialize_pem()).unwrap();
        let foreign = make(out.path(), &Order::new("fn"), now()).unwrap_err();
        assert!(matches!(foreign, MakeError::ForeignAuthority { .. }), "{foreign}");
        assert_eq!(read(&made.server, CERTIFICATE), before);
    }

    #[test]
    fn a_service_is_known_by_the_names_of_the_reference() {
        let names = |name: &str, sans: &[&str]| {
            Order { sans: sans.iter().map(ToString::to_string).collect(), ..Order::new(name) }.names()
        };
        assert_eq!(names("fn", &["localhost", "fn"]), ["fn", "localhost"]);
        assert_eq!(names("fn.system", &["127.0.0.1"]), ["fn", "fn.system", "fn.system.svc", "127.0.0.1"]);
        assert_eq!(names("fn.example.org", &[]), ["fn.example.org"]);
    }
}
