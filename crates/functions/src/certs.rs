//! Issues the certificates by which an engine and its functions trust each other: one authority, and a folder for each
//! side.
//!
//! ```text
//! DIR/ca      the authority; kept if it exists, so that it can issue certificates for further functions
//! DIR/client  for the engine
//! DIR/server  for the function
//! ```
//!
//! Each folder has `tls.crt`, `tls.key` and `ca.crt`, ready to be mounted or turned into a Secret. The operator uses the same
//! [`Authority`] for the functions it runs, and keeps it in a Secret.

mod authority;
mod renewal;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::tls::{AUTHORITY, CERTIFICATE, KEY, Pem};

pub use authority::{AUTHORITY_DAYS, Authority};
pub use renewal::{Validity, is_renewal_due};

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
        let mut names = service_names(&self.name);
        for san in &self.sans {
            if !names.contains(san) {
                names.push(san.clone());
            }
        }
        names
    }
}

/// What the certificate of a Service `name` or `name.namespace` is valid for.
pub fn service_names(name: &str) -> Vec<String> {
    match name.split_once('.') {
        Some((service, namespace)) if !namespace.contains('.') => {
            vec![service.to_owned(), name.to_owned(), format!("{name}.svc")]
        }
        _ => vec![name.to_owned()],
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
    let issued = Issued {
        kept_authority: out.join("ca").join(KEY).exists(),
        authority: out.join("ca"),
        client: out.join("client"),
        server: out.join("server"),
        names: options.names(),
    };
    let authority = if issued.kept_authority {
        let read = |name: &str| {
            let path = issued.authority.join(name);
            fs::read(&path).map_err(|source| IssueError::File { path, source })
        };
        Authority::from_pem(&read(CERTIFICATE)?, &read(KEY)?)?
    } else {
        let authority = Authority::create(options.days.max(AUTHORITY_DAYS), now)?;
        write(&issued.authority, &authority.pem())?;
        authority
    };
    let client = authority.issue_client(options.days, now)?;
    if !authority.is_usable(&client, now) {
        return Err(IssueError::ForeignAuthority { folder: issued.authority });
    }
    let server = authority.issue_server(&options.name, &issued.names, options.days, now)?;
    write(&issued.client, &client)?;
    write(&issued.server, &server)?;
    Ok(issued)
}

/// Writes one folder. Files appear complete and readable by their owner only.
fn write(folder: &Path, pem: &Pem) -> Result<(), IssueError> {
    fs::create_dir_all(folder).map_err(|source| IssueError::File { path: folder.to_owned(), source })?;
    for (name, content) in [(AUTHORITY, &pem.authority), (CERTIFICATE, &pem.certificate), (KEY, &pem.key)] {
        let path = folder.join(name);
        write_atomically(folder, &path, content).map_err(|source| IssueError::File { path, source })?;
    }
    Ok(())
}

/// A temporary file is readable by its owner only, and stays so when it is renamed.
fn write_atomically(folder: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256};

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
    fn certificates_are_valid_for_a_year_by_default() {
        let out = tempfile::tempdir().unwrap();
        let issued = issue(out.path(), &IssueOptions::new("fn"), now()).unwrap();
        for folder in [&issued.client, &issued.server] {
            let validity = Validity::of(read(folder, CERTIFICATE).as_bytes()).unwrap();
            // They end at the end of a day.
            let days = validity.until.duration_since(now()).as_hours() / 24;
            assert!((364..=365).contains(&days), "{validity:?}");
        }
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
