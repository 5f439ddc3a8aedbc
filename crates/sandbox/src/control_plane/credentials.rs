//! Keys and certificates of one sandbox, random and used nowhere else.

use std::io;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_RSA_SHA256, RsaKeySize,
};

use super::layout::{Layout, make_private_folder, write_private};

/// Everything a sandbox needs to know its clients and its clients need to know it.
pub(crate) struct Credentials {
    /// Signs the serving and the client certificates.
    pub(crate) authority: String,
    /// What the API server shows.
    pub(crate) serving: Pair,
    /// What the administrator shows.
    pub(crate) client: Pair,
    /// What the administrator may show instead.
    pub(crate) token: String,
    /// Signs service account tokens.
    pub(crate) service_account_key: String,
}

/// A certificate and its key, both as PEM.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Who the administrator is, with either credential.
const USER: &str = "admin";
const GROUP: &str = "system:masters";

/// Names the serving certificate is good for; 10.0.0.1 is the first address of the service range, `kubernetes.default`.
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
    /// Makes new ones.
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
        let files = Files::new(layout);
        make_private_folder(&layout.pki())?;
        write_private(&files.authority, self.authority.as_bytes())?;
        write_private(&files.serving_certificate, self.serving.certificate.as_bytes())?;
        write_private(&files.serving_key, self.serving.key.as_bytes())?;
        write_private(&files.service_account_key, self.service_account_key.as_bytes())?;
        // One line: token, user name, uid, groups.
        let line = format!("{},{USER},{USER},{GROUP}\n", self.token);
        write_private(&files.tokens, line.as_bytes())
    }
}

/// The names of the files below `pki/`.
pub(crate) struct Files {
    pub(crate) authority: PathBuf,
    pub(crate) serving_certificate: PathBuf,
    pub(crate) serving_key: PathBuf,
    pub(crate) service_account_key: PathBuf,
    pub(crate) tokens: PathBuf,
}

impl Files {
    pub(crate) fn new(layout: &Layout) -> Self {
        let file = |name| layout.pki().join(name);
        Self {
            authority: file("ca.crt"),
            serving_certificate: file("apiserver.crt"),
            serving_key: file("apiserver.key"),
            service_account_key: file("service-account.key"),
            tokens: file("tokens.csv"),
        }
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
