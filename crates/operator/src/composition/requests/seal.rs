//! Encrypts an answer for the process that asked: neither others who may read the request, nor backups and audit logs of the
//! cluster, can show what is in it.
//!
//! An X25519 key for each side and each answer, HKDF-SHA-256, AES-256-GCM. A key encrypts one message only, so the nonce is
//! constant.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use aws_lc_rs::rand::SystemRandom;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

const PURPOSE: &[u8] = b"plimsoll.dev/v1alpha1 Request";
const PUBLIC_KEY: usize = 32;

/// The text is not an answer for this key, or there are no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not encrypted for this key")]
pub struct Unsealable;

/// Opens the one answer that is encrypted for it.
pub struct OpeningKey {
    private: EphemeralPrivateKey,
    public: Vec<u8>,
}

impl OpeningKey {
    pub fn new() -> Result<Self, Unsealable> {
        let (private, public) = pair()?;
        Ok(Self { private, public })
    }

    /// What the other side needs.
    pub fn public(&self) -> String {
        BASE64_STANDARD.encode(&self.public)
    }

    pub fn open(self, sealed: &str) -> Result<Vec<u8>, Unsealable> {
        let mut sealed = BASE64_STANDARD.decode(sealed).map_err(|_| Unsealable)?;
        if sealed.len() < PUBLIC_KEY {
            return Err(Unsealable);
        }
        let mut message = sealed.split_off(PUBLIC_KEY);
        let key = key(self.private, &sealed, &sealed, &self.public)?;
        let opened = key.open_in_place(nonce(), Aad::from(PURPOSE), &mut message).map_err(|_| Unsealable)?;
        Ok(opened.to_vec())
    }
}

/// Encrypts `message` for the holder of a public key.
pub(super) fn seal(public: &str, mut message: Vec<u8>) -> Result<String, Unsealable> {
    let theirs = BASE64_STANDARD.decode(public).map_err(|_| Unsealable)?;
    let (private, ours) = pair()?;
    let key = key(private, &theirs, &ours, &theirs)?;
    key.seal_in_place_append_tag(nonce(), Aad::from(PURPOSE), &mut message).map_err(|_| Unsealable)?;
    Ok(BASE64_STANDARD.encode([ours, message].concat()))
}

fn pair() -> Result<(EphemeralPrivateKey, Vec<u8>), Unsealable> {
    let private = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).map_err(|_| Unsealable)?;
    let public = private.compute_public_key().map_err(|_| Unsealable)?.as_ref().to_vec();
    Ok((private, public))
}

/// The key that both sides derive; it depends on both public keys.
fn key(
    private: EphemeralPrivateKey,
    peer: &[u8],
    sender: &[u8],
    receiver: &[u8],
) -> Result<LessSafeKey, Unsealable> {
    let peer = UnparsedPublicKey::new(&X25519, peer);
    agree_ephemeral(private, peer, Unsealable, |shared| {
        let secret = Salt::new(HKDF_SHA256, PURPOSE).extract(shared);
        let info = [sender, receiver];
        let key = secret.expand(&info, &AES_256_GCM).map_err(|_| Unsealable)?;
        Ok(LessSafeKey::new(UnboundKey::from(key)))
    })
}

fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_that_asked_opens_an_answer() {
        let asked = OpeningKey::new().unwrap();
        let other = OpeningKey::new().unwrap();
        let sealed = seal(&asked.public(), b"the answer".to_vec()).unwrap();
        assert!(!sealed.contains("answer"));
        assert_eq!(other.open(&sealed), Err(Unsealable));
        assert_eq!(asked.open(&sealed).as_deref(), Ok(&b"the answer"[..]));
    }

    #[test]
    fn what_was_tampered_with_is_refused() {
        let tampered = |change: fn(&mut Vec<u8>)| {
            let asked = OpeningKey::new().unwrap();
            let sealed = seal(&asked.public(), b"the answer".to_vec()).unwrap();
            let mut bytes = BASE64_STANDARD.decode(sealed).unwrap();
            change(&mut bytes);
            asked.open(&BASE64_STANDARD.encode(bytes))
        };
        assert!(tampered(|_| {}).is_ok());
        assert_eq!(tampered(|bytes| bytes[40] ^= 1), Err(Unsealable));
        assert_eq!(tampered(|bytes| bytes[0] ^= 1), Err(Unsealable));
        assert_eq!(tampered(|bytes| bytes.truncate(20)), Err(Unsealable));
        assert_eq!(seal("no key", Vec::new()), Err(Unsealable));
        assert_eq!(seal("AAAA", Vec::new()), Err(Unsealable));
    }
}
