//! Mutual TLS as go-plugin does it: each side shows a certificate made for this one process, and each knows the other's
//! beforehand.

use std::sync::Arc;

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, PKCS_ECDSA_P256_SHA256,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName as Subject, Error, ServerConfig,
    SignatureScheme,
};

/// What a server needs to talk to exactly one client.
pub(crate) struct Pinned {
    /// How to talk.
    pub(crate) config: Arc<ServerConfig>,
    /// Our certificate, for the client to know us by.
    pub(crate) certificate: CertificateDer<'static>,
}

/// The certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("the client's certificate is not PEM")]
    ClientCertificate(#[source] rustls::pki_types::pem::Error),
    #[error("no certificate could be made")]
    OwnCertificate(#[from] rcgen::Error),
    #[error("TLS could not be set up")]
    Setup(#[from] Error),
}

/// Makes a certificate of our own and accepts the client with this certificate, in PEM, and no other.
pub(crate) fn pinned(client: &str) -> Result<Pinned, TlsError> {
    let client = CertificateDer::from_pem_slice(client.as_bytes()).map_err(TlsError::ClientCertificate)?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let (certificate, key) = own_certificate()?;
    let verifier = Arc::new(PinnedClient { certificate: client, provider: provider.clone() });
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate.clone()], key)?;
    // gRPC for Go refuses a connection on which HTTP/2 was not agreed upon.
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Pinned { config: Arc::new(config), certificate })
}

/// A certificate for `localhost`, the name under which go-plugin expects every plugin. P-256 is the cheapest curve that
/// Terraform takes.
fn own_certificate() -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), rcgen::Error> {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()])?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "localhost");
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let certificate = params.self_signed(&key)?;
    Ok((certificate.der().clone(), PrivateKeyDer::Pkcs8(key.serialize_der().into())))
}

/// Accepts one certificate, byte for byte.
///
/// rustls' own verifier cannot be used: go-plugin's certificate signs itself and claims to be an authority, which no
/// client certificate may.
#[derive(Debug)]
struct PinnedClient {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for PinnedClient {
    fn root_hint_subjects(&self) -> &[Subject] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if *end_entity == self.certificate {
            Ok(ClientCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
