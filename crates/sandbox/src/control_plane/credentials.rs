//! Keys and certificates of one sandbox: random, and used nowhere else.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_RSA_SHA256, RsaKeySize,
};

use super::layout::{Layout, write_private};
use crate::folder;

/// Files below `pki/`.
pub(crate) const CA_CERTIFICATE: &str = "ca.crt";
pub(crate) const SERVING_CERTIFICATE: &str = "apiserver.crt";
pub(crate) const SERVING_KEY: &str = "apiserver.key";
pub(crate) const SERVICE_ACCOUNT_KEY: &str = "service-account.key";
pub(crate) const TOKENS: &str = "tokens.csv";

pub(crate) struct Credentials {
    /// The certificate of the CA that signs the other two.
    pub(crate) authority: String,
    /// Of the API server.
    pub(crate) serving: Pair,
    /// Of the administrator.
    pub(crate) client: Pair,
    /// The administrator's bearer token.
    pub(crate) token: String,
    /// Signs service account tokens.
    pub(crate) service_account_key: String,
}

/// A certificate and its key, both as PEM.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// The administrator's identity, with either credential.
const USER: &str = "admin";
const GROUP: &str = "system:masters";

/// Names in the serving certificate; 10.0.0.1 is the first address of the service range, `kubernetes.default`.
const SERVER_NAMES: [&str; 7] = [
    "127.0.0.1",
    "localhost",
    "10.0.0.1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

impl Credentials {
    pub(crate) fn generate() -> io::Result<Self> {
        Self::try_generate().map_err(io::Error::other)
    }

    fn try_generate() -> Result<Self, rcgen::Error> {
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(DnType::CommonName, "plimsoll sandbox");
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let certificate = authority.self_signed(&key)?.pem();
        let issuer = Issuer::new(authority, key);

        let mut serving = CertificateParams::new(SERVER_NAMES.map(str::to_owned))?;
        serving.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        serving.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];

        let mut client = CertificateParams::default();
        client.distinguished_name.push(DnType::CommonName, USER);
        client.distinguished_name.push(DnType::OrganizationName, GROUP);
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];

        Ok(Self {
            authority: certificate,
            serving: Pair::sign(serving, &issuer)?,
            client: Pair::sign(client, &issuer)?,
            token: random_token()?,
            service_account_key: KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?
                .serialize_pem(),
        })
    }

    /// Writes the files the API server and the controller manager read.
    pub(crate) fn write(&self, layout: &Layout) -> io::Result<()> {
        folder::create_private(&layout.pki())?;
        // The columns are token, user name, uid and groups.
        let tokens = format!("{},{USER},{USER},{GROUP}\n", self.token);
        for (file, content) in [
            (CA_CERTIFICATE, &self.authority),
            (SERVING_CERTIFICATE, &self.serving.certificate),
            (SERVING_KEY, &self.serving.key),
            (SERVICE_ACCOUNT_KEY, &self.service_account_key),
            (TOKENS, &tokens),
        ] {
            write_private(&layout.pki().join(file), content.as_bytes())?;
        }
        Ok(())
    }
}

impl Pair {
    fn sign(mut params: CertificateParams, issuer: &Issuer<'_, KeyPair>) -> Result<Self, rcgen::Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        Ok(Self { certificate: params.signed_by(&key, issuer)?.pem(), key: key.serialize_pem() })
    }
}

fn random_token() -> Result<String, rcgen::Error> {
    let mut bytes = [0_u8; 32];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| rcgen::Error::RingUnspecified)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sandboxes_share_no_secret() {
        let (one, other) = (Credentials::generate().unwrap(), Credentials::generate().unwrap());
        assert_ne!(one.token, other.token);
        assert_ne!(one.authority, other.authority);
        assert_ne!(one.client.key, other.client.key);
        assert_ne!(one.service_account_key, other.service_account_key);
        assert_eq!(one.token.len(), 43);
    }
}
