//! Private keys with a pass phrase: PKCS #8 with PBES2 (RFC 8018), as OpenSSL 3 and ssh-keygen write them.
//!
//! aws-lc-rs has the ciphers but reads no encrypted PKCS #8.

use std::num::NonZeroU32;

use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, Algorithm, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::pbkdf2;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};

use super::KeyError;
use crate::der::{Der, INTEGER, OBJECT_ID, OCTETS, SEQUENCE};

const PBES2_ID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c];
const HMAC_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x07];
const HMAC_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x09];
const HMAC_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x0b];
const AES_128_CBC: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x02];
const AES_192_CBC: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x16];
const AES_256_CBC: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x2a];

/// More than any tool uses. A key may come from any user's Secret and must not keep us busy for long.
const MAX_ITERATIONS: u32 = 2_000_000;

/// The decrypted key, as PKCS #8.
pub(super) fn decrypt(der: &[u8], pass_phrase: &SecretString) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let pbes2 = Pbes2::parse(der).ok_or(KeyError::UnknownEncryption)?;
    let mut key = Zeroizing::new(vec![0; pbes2.key_len]);
    let secret = pass_phrase.expose_secret().as_bytes();
    pbkdf2::derive(pbes2.hash, pbes2.iterations, pbes2.salt, secret, &mut key);
    let decrypt = || {
        let key = UnboundCipherKey::new(pbes2.cipher, &key).ok()?;
        let key = PaddedBlockDecryptingKey::cbc_pkcs7(key).ok()?;
        let context = DecryptionContext::Iv128(FixedLength::try_from(pbes2.iv).ok()?);
        let mut data = Zeroizing::new(pbes2.data.to_vec());
        let plain = key.decrypt(&mut data, context).ok()?;
        Some(Zeroizing::new(plain.to_vec()))
    };
    // A wrong pass phrase yields bad padding or, one time in 256, something that is not DER.
    decrypt().filter(|plain| plain.first() == Some(&SEQUENCE)).ok_or(KeyError::WrongPassPhrase)
}

struct Pbes2<'a> {
    hash: pbkdf2::Algorithm,
    salt: &'a [u8],
    iterations: NonZeroU32,
    cipher: &'static Algorithm,
    key_len: usize,
    iv: &'a [u8],
    data: &'a [u8],
}

impl<'a> Pbes2<'a> {
    /// ```text
    /// SEQUENCE {
    ///   SEQUENCE { pbes2, SEQUENCE {
    ///     SEQUENCE { pbkdf2, SEQUENCE { salt, iterations, keyLength OPTIONAL, SEQUENCE { hash } DEFAULT sha1 } }
    ///     SEQUENCE { cipher, iv } } }
    ///   OCTET STRING }
    /// ```
    fn parse(der: &'a [u8]) -> Option<Self> {
        let mut whole = Der(Der(der).take(SEQUENCE)?);
        let mut scheme = Der(whole.take(SEQUENCE)?);
        let data = whole.take(OCTETS)?;
        if scheme.take(OBJECT_ID)? != PBES2_ID {
            return None;
        }
        let mut parameters = Der(scheme.take(SEQUENCE)?);
        let mut derivation = Der(parameters.take(SEQUENCE)?);
        if derivation.take(OBJECT_ID)? != PBKDF2 {
            return None;
        }
        let mut derivation = Der(derivation.take(SEQUENCE)?);
        let salt = derivation.take(OCTETS)?;
        let iterations = derivation.take(INTEGER)?.iter().try_fold(0_u32, |number, byte| {
            number.checked_mul(256).map(|number| number + u32::from(*byte))
        })?;
        let hash = match derivation.take(SEQUENCE).or_else(|| {
            derivation.take(INTEGER)?;
            derivation.take(SEQUENCE)
        }) {
            None => pbkdf2::PBKDF2_HMAC_SHA1,
            Some(hash) => match Der(hash).take(OBJECT_ID)? {
                HMAC_SHA1 => pbkdf2::PBKDF2_HMAC_SHA1,
                HMAC_SHA256 => pbkdf2::PBKDF2_HMAC_SHA256,
                HMAC_SHA512 => pbkdf2::PBKDF2_HMAC_SHA512,
                _ => return None,
            },
        };
        let mut encryption = Der(parameters.take(SEQUENCE)?);
        let (cipher, key_len) = match encryption.take(OBJECT_ID)? {
            AES_128_CBC => (&AES_128, 16),
            AES_192_CBC => (&AES_192, 24),
            AES_256_CBC => (&AES_256, 32),
            _ => return None,
        };
        let iv = encryption.take(OCTETS)?;
        let iterations = NonZeroU32::new(iterations).filter(|number| number.get() <= MAX_ITERATIONS)?;
        Some(Self { hash, salt, iterations, cipher, key_len, iv, data })
    }
}
