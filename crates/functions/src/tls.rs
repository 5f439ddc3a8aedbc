//! Mutual TLS configurations that are rebuilt whenever the certificates change.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::ResolvesClientCert;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme};
use tokio::sync::watch;

/// The files of a certificate folder, named as in Crossplane's Secrets.
pub(crate) const CERTIFICATE: &str = "tls.crt";
pub(crate) const KEY: &str = "tls.key";
pub(crate) const AUTHORITY: &str = "ca.crt";

/// Where the certificates of one side come from. Every new connection uses the current ones.
#[derive(Clone, Debug)]
pub enum Certificates {
    /// A folder with `tls.crt`, `tls.key` and `ca.crt`, such as a mounted Secret.
    Folder(PathBuf),
    /// The value sent last, for instance the content of a watched Secret.
    Watched(watch::Receiver<Pem>),
}

/// A certificate, its key, and the authority that must have issued the peer's certificate.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Pem {
    /// `tls.crt`: the certificate and its intermediates.
    pub certificate: Vec<u8>,
    /// `tls.key`
    pub key: Vec<u8>,
    /// `ca.crt`: one or more authorities.
    pub authority: Vec<u8>,
}

/// Omits the key.
impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pem")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CertificatesError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{file} does not contain the PEM it should")]
    Pem {
        /// `tls.crt`, `tls.key` or `ca.crt`.
        file: &'static str,
        source: rustls::pki_types::pem::Error,
    },
    /// For instance the key does not belong to the certificate.
    #[error("the certificates do not work together")]
    Refused(#[from] rustls::Error),
    #[error("ca.crt cannot be used to verify clients")]
    Authority(#[from] VerifierBuilderError),
}

impl Certificates {
    fn read(&self) -> Result<Pem, CertificatesError> {
        match self {
            Self::Folder(folder) => Ok(Pem {
                certificate: read(folder, CERTIFICATE)?,
                key: read(folder, KEY)?,
                authority: read(folder, AUTHORITY)?,
            }),
            Self::Watched(pem) => Ok(pem.borrow().clone()),
        }
    }
}

fn read_all(sources: &[Certificates]) -> Result<Vec<Pem>, CertificatesError> {
    sources.iter().map(Certificates::read).collect()
}

fn read(folder: &Path, name: &str) -> Result<Vec<u8>, CertificatesError> {
    let path = folder.join(name);
    std::fs::read(&path).map_err(|source| CertificatesError::Read { path, source })
}

/// A TLS configuration that is rebuilt when its certificates change.
///
/// Every new connection reads the three small files and compares their content, which is safer than comparing timestamps.
/// If they do not fit together because they are just being replaced, the last usable ones stay in use.
pub(crate) struct Reloading<C> {
    sources: Vec<Certificates>,
    build: Build<C>,
    current: Mutex<(Vec<Pem>, Arc<C>)>,
}

type Build<C> = fn(&[Pem]) -> Result<C, CertificatesError>;

impl<C> Reloading<C> {
    fn new(sources: Vec<Certificates>, build: Build<C>) -> Result<Self, CertificatesError> {
        let read = read_all(&sources)?;
        let config = Arc::new(build(&read)?);
        Ok(Self { sources, build, current: Mutex::new((read, config)) })
    }

    /// The configuration for a connection made now.
    pub(crate) fn current(&self) -> Arc<C> {
        let read = read_all(&self.sources);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let renewed = match read {
            Ok(pem) if pem == current.0 => return Arc::clone(&current.1),
            Ok(pem) => (self.build)(&pem).map(|config| (pem, Arc::new(config))),
            Err(error) => Err(error),
        };
        match renewed {
            Ok(renewed) => *current = renewed,
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the changed certificates cannot be used; the previous ones stay in use"
            ),
        }
        Arc::clone(&current.1)
    }
}

/// Trusts the authorities of all `sources`, and shows each function the certificate of the authority that it trusts.
pub(crate) fn client(sources: Vec<Certificates>) -> Result<Reloading<ClientConfig>, CertificatesError> {
    Reloading::new(sources, |read| {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut trusted = RootCertStore::empty();
        let mut identities = Vec::new();
        for pem in read {
            let (chain, key, roots) = parse(pem)?;
            let key = CertifiedKey::from_der(chain, key, &provider)?;
            identities.push(Identity { authorities: roots.subjects(), key: Arc::new(key) });
            trusted.extend(roots.roots);
        }
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(trusted)
            .with_client_cert_resolver(Arc::new(Identities(identities)));
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    })
}

/// The certificates an engine can show.
#[derive(Debug)]
struct Identities(Vec<Identity>);

#[derive(Debug)]
struct Identity {
    authorities: Vec<DistinguishedName>,
    key: Arc<CertifiedKey>,
}

impl ResolvesClientCert for Identities {
    /// The one the server asks for by the names of its authorities; the first, if it names none that is known.
    fn resolve(&self, asked: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let is_asked =
            |identity: &&Identity| identity.authorities.iter().any(|name| asked.contains(&name.as_ref()));
        let identity = self.0.iter().find(is_asked).or(self.0.first())?;
        Some(Arc::clone(&identity.key))
    }

    fn has_certs(&self) -> bool {
        !self.0.is_empty()
    }
}

/// Requires a certificate from the client.
pub(crate) fn server(certificates: Certificates) -> Result<Reloading<ServerConfig>, CertificatesError> {
    Reloading::new(vec![certificates], |read| {
        let [pem] = read else { unreachable!("a server has one certificate") };
        let (chain, key, roots) = parse(pem)?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build()?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    })
}

type Parsed = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>, RootCertStore);

fn parse(pem: &Pem) -> Result<Parsed, CertificatesError> {
    let key = PrivateKeyDer::from_pem_slice(&pem.key)
        .map_err(|source| CertificatesError::Pem { file: KEY, source })?;
    let mut roots = RootCertStore::empty();
    for authority in parse_chain(&pem.authority, AUTHORITY)? {
        roots.add(authority)?;
    }
    Ok((parse_chain(&pem.certificate, CERTIFICATE)?, key, roots))
}

fn parse_chain(pem: &[u8], file: &'static str) -> Result<Vec<CertificateDer<'static>>, CertificatesError> {
    let bad = |source| CertificatesError::Pem { file, source };
    let chain: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(bad)?;
    if chain.is_empty() {
        return Err(bad(rustls::pki_types::pem::Error::NoItemsFound));
    }
    Ok(chain)
}

#[cfg(test)]
mod tests;
