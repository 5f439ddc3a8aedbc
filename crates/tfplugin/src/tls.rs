//! Mutual TLS as in go-plugin: each side has a certificate for this one process and knows the other's in advance.

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

/// What a server needs to accept exactly one client.
pub(crate) struct Pinned {
    pub(crate) config: Arc<ServerConfig>,
    /// The server's own, which the client pins.
    pub(crate) certificate: CertificateDer<'static>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("the client's certificate is not PEM")]
    ClientCertificate(#[source] rustls::pki_types::pem::Error),
    #[error("cannot create a certificate")]
    OwnCertificate(#[from] rcgen::Error),
    #[error("cannot set up TLS")]
    Setup(#[from] Error),
}

/// Creates a certificate for the server and accepts only the client with this certificate, in PEM.
pub(crate) fn pinned(client: &str) -> Result<Pinned, TlsError> {
    let client = CertificateDer::from_pem_slice(client.as_bytes()).map_err(TlsError::ClientCertificate)?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let (certificate, key) = own_certificate()?;
    let verifier = Arc::new(PinnedClient { certificate: client, provider: provider.clone() });
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate.clone()], key)?;
    // grpc-go refuses a connection that did not negotiate HTTP/2.
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Pinned { config: Arc::new(config), certificate })
}

/// For `localhost`, the name go-plugin expects of every plugin. P-256 is the cheapest curve that Terraform accepts.
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
/// rustls' own verifier does not work: go-plugin's certificate is self-signed and claims to be an authority, which no client
/// certificate may.
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
