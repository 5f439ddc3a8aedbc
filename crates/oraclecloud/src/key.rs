//! The RSA keys that sign requests, read from every PEM form in use and never shown.

mod encrypted;
pub(crate) mod pem;

use std::fmt;

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, UnparsedPublicKey};
use md5::{Digest as _, Md5};
use secrecy::{ExposeSecret as _, SecretString};

pub struct PrivateKey {
    pair: KeyPair,
    fingerprint: String,
}

impl PrivateKey {
    /// Reads PKCS #1, or PKCS #8 with or without a pass phrase.
    pub fn from_pem(pem: &SecretString, pass_phrase: Option<&SecretString>) -> Result<Self, KeyError> {
        let block = pem::Block::find(pem.expose_secret(), "PRIVATE KEY").ok_or(KeyError::NoKey)?;
        let pair = match (block.label, pass_phrase) {
            ("PRIVATE KEY", _) => KeyPair::from_pkcs8(&block.der),
            ("RSA PRIVATE KEY", _) if block.has_headers => return Err(KeyError::LegacyEncryption),
            ("RSA PRIVATE KEY", _) => KeyPair::from_der(&block.der),
            ("ENCRYPTED PRIVATE KEY", None) => return Err(KeyError::NoPassPhrase),
            ("ENCRYPTED PRIVATE KEY", Some(pass_phrase)) => {
                KeyPair::from_pkcs8(&encrypted::decrypt(&block.der, pass_phrase)?)
            }
            _ => return Err(KeyError::NotRsa),
        };
        Self::from_pair(pair.map_err(|_| KeyError::NotRsa)?)
    }

    fn from_pair(pair: KeyPair) -> Result<Self, KeyError> {
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().map_err(|_| KeyError::NotRsa)?;
        Ok(Self { fingerprint: fingerprint(public.as_ref()), pair })
    }

    /// Oracle Cloud's name for the key: the MD5 of its public half, in pairs of digits.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Signs with PKCS #1 v1.5 and SHA-256.
    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let mut signature = vec![0; self.pair.public_modulus_len()];
        self.pair
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)
            .expect("an accepted key signs any message");
        signature
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.fingerprint)
    }
}

/// The public half of a key, as a server stores it.
pub struct PublicKey {
    der: Vec<u8>,
}

impl PublicKey {
    /// Reads `BEGIN PUBLIC KEY`.
    pub fn from_pem(text: &str) -> Option<Self> {
        let block = pem::Block::find(text, "PUBLIC KEY").filter(|block| block.label == "PUBLIC KEY")?;
        Some(Self { der: block.der.to_vec() })
    }

    pub fn fingerprint(&self) -> String {
        fingerprint(&self.der)
    }

    /// Whether the private half made the signature of the message.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.der).verify(message, signature).is_ok()
    }
}

/// A new key pair as PEM.
pub struct GeneratedKey {
    /// PKCS #8.
    pub private_pem: SecretString,
    pub public_pem: String,
    pub fingerprint: String,
    public_der: Vec<u8>,
}

impl GeneratedKey {
    /// Generates a key of 2048 bits, the least that Oracle Cloud accepts.
    pub fn generate() -> Result<Self, KeyError> {
        let pair = KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).map_err(|_| KeyError::NotGenerated)?;
        let private = pair.as_der().map_err(|_| KeyError::NotGenerated)?;
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().map_err(|_| KeyError::NotGenerated)?;
        Ok(Self {
            private_pem: pem::encode("PRIVATE KEY", private.as_ref()).into(),
            public_pem: pem::encode("PUBLIC KEY", public.as_ref()),
            fingerprint: fingerprint(public.as_ref()),
            public_der: public.as_ref().to_vec(),
        })
    }

    pub(crate) fn public_der(&self) -> &[u8] {
        &self.public_der
    }
}

fn fingerprint(public_der: &[u8]) -> String {
    hex_pairs(&Md5::digest(public_der))
}

/// Hexadecimal pairs of digits: `1f:0a`.
pub(crate) fn hex_pairs(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

/// Why a key is unusable. Errors show no part of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("it contains no PEM block of a private key")]
    NoKey,
    /// It is a key of another type, too short, or damaged.
    #[error("it is not an intact RSA private key of at least 2048 bits")]
    NotRsa,
    #[error("it is encrypted, and no pass phrase is configured")]
    NoPassPhrase,
    #[error("the pass phrase is wrong")]
    WrongPassPhrase,
    /// The encryption of OpenSSL before version 3, which relies on MD5.
    #[error("it uses OpenSSL's legacy encryption; convert it with `openssl pkcs8 -topk8 -v2 aes256`")]
    LegacyEncryption,
    #[error("it is not encrypted with PBKDF2 and AES-CBC; convert it with `openssl pkcs8 -topk8 -v2 aes256`")]
    UnknownEncryption,
    #[error("the system cannot generate a key")]
    NotGenerated,
}

/// The key that tests of this crate sign with.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    pub(crate) const FINGERPRINT: &str = "a5:43:fa:31:2b:fa:a7:72:d5:cb:f1:c1:0a:aa:ee:b2";
    pub(crate) const PEM: &str = include_str!("../testdata/pkcs8.pem");

    pub(crate) fn key() -> PrivateKey {
        PrivateKey::from_pem(&PEM.into(), None).unwrap()
    }

    pub(crate) fn public_pem() -> String {
        let public: PublicKeyX509Der<'_> = key().pair.public_key().as_der().unwrap();
        pem::encode("PUBLIC KEY", public.as_ref())
    }
}

#[cfg(test)]
mod tests;
