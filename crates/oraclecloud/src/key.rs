//! An RSA key that signs requests: read from PEM as people have it, never shown.

mod encrypted;
pub(crate) mod pem;

use std::fmt;

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use md5::{Digest as _, Md5};
use secrecy::{ExposeSecret as _, SecretString};

/// A private key.
pub struct PrivateKey {
    pair: KeyPair,
    fingerprint: String,
}

impl PrivateKey {
    /// Reads a key: PKCS #8, encrypted with a pass phrase or not, or PKCS #1.
    pub fn from_pem(pem: &SecretString, pass_phrase: Option<&SecretString>) -> Result<Self, KeyError> {
        let block = pem::Block::find(pem.expose_secret(), "PRIVATE KEY").ok_or(KeyError::NoKey)?;
        let pair = match (block.label, pass_phrase) {
            ("PRIVATE KEY", _) => KeyPair::from_pkcs8(&block.der),
            ("RSA PRIVATE KEY", _) if block.has_headers => return Err(KeyError::OldEncryption),
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

    /// The name Oracle Cloud has for the key: the MD5 of its public half, in pairs of digits.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Signs with PKCS #1 v1.5 and SHA-256.
    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let mut signature = vec![0; self.pair.public_modulus_len()];
        self.pair
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)
            .expect("a key that was accepted signs anything");
        signature
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.fingerprint)
    }
}

/// The public half of a key, as a server knows it.
pub struct PublicKey {
    der: Vec<u8>,
}

impl PublicKey {
    /// Reads `BEGIN PUBLIC KEY`.
    pub fn from_pem(text: &str) -> Option<Self> {
        let block = pem::Block::find(text, "PUBLIC KEY").filter(|block| block.label == "PUBLIC KEY")?;
        Some(Self { der: block.der.to_vec() })
    }

    /// The name Oracle Cloud has for the key.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.der)
    }

    /// Whether the signature over the message was made by the private half.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        aws_lc_rs::signature::UnparsedPublicKey::new(
            &aws_lc_rs::signature::RSA_PKCS1_2048_8192_SHA256,
            &self.der,
        )
        .verify(message, signature)
        .is_ok()
    }
}

/// A fresh key pair as PEM, private and public half.
pub struct GeneratedKey {
    /// The private half, PKCS #8.
    pub private_pem: SecretString,
    /// The public half.
    pub public_pem: String,
    /// The name Oracle Cloud has for it.
    pub fingerprint: String,
}

impl GeneratedKey {
    /// Makes a key of 2048 bits, which is what Oracle Cloud asks for at least.
    pub fn generate() -> Result<Self, KeyError> {
        let pair = KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).map_err(|_| KeyError::NotGenerated)?;
        let private = pair.as_der().map_err(|_| KeyError::NotGenerated)?;
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().map_err(|_| KeyError::NotGenerated)?;
        Ok(Self {
            private_pem: pem::encode("PRIVATE KEY", private.as_ref()).into(),
            public_pem: pem::encode("PUBLIC KEY", public.as_ref()),
            fingerprint: fingerprint(public.as_ref()),
        })
    }
}

impl GeneratedKey {
    /// The public half as DER.
    pub(crate) fn public_der(&self) -> Vec<u8> {
        pem::Block::find(&self.public_pem, "PUBLIC KEY").map(|block| block.der.to_vec()).unwrap_or_default()
    }
}

fn fingerprint(public_der: &[u8]) -> String {
    let digest = Md5::digest(public_der);
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

/// Why a key cannot be used. None of these shows a part of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no PEM block in it.
    #[error("there is no PEM block of a private key in it")]
    NoKey,
    /// It is a key of another sort, or damaged.
    #[error("it is not a whole RSA private key of at least 2048 bits")]
    NotRsa,
    /// A pass phrase is needed.
    #[error("it is encrypted and no pass phrase is given")]
    NoPassPhrase,
    /// The pass phrase does not open it.
    #[error("the pass phrase does not open it")]
    WrongPassPhrase,
    /// It is encrypted in the way of OpenSSL before 3, which rests on MD5.
    #[error("it is encrypted in an old way; convert it with `openssl pkcs8 -topk8 -v2 aes256`")]
    OldEncryption,
    /// It is encrypted with something else than PBKDF2 and AES.
    #[error(
        "it is encrypted with something else than PBKDF2 and AES-CBC; convert it with `openssl pkcs8 -topk8 -v2 aes256`"
    )]
    UnknownEncryption,
    /// The system could not make one.
    #[error("no key could be generated")]
    NotGenerated,
}

/// The one key that tests of this crate sign with.
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
