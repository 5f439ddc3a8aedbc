use super::*;

const PKCS1: &str = include_str!("../../testdata/pkcs1.pem");
const PKCS8: &str = include_str!("../../testdata/pkcs8.pem");
const ENCRYPTED: &str = include_str!("../../testdata/encrypted.pem");
const ENCRYPTED_OLD: &str = include_str!("../../testdata/encrypted-old.pem");

fn read(pem: &str, pass_phrase: Option<&str>) -> Result<PrivateKey, KeyError> {
    PrivateKey::from_pem(&pem.into(), pass_phrase.map(SecretString::from).as_ref())
}

#[test]
fn every_form_of_a_key_is_read() {
    for (pem, pass_phrase) in [
        (PKCS1.to_owned(), None),
        (PKCS8.to_owned(), None),
        (PKCS8.to_owned(), Some("not needed")),
        (ENCRYPTED.to_owned(), Some("correct")),
        (format!("{PKCS8}OCI_API_KEY\n"), None),
        (PKCS8.replace('\n', "\r\n"), None),
    ] {
        let key = read(&pem, pass_phrase).unwrap();
        assert_eq!(key.fingerprint(), testing::FINGERPRINT);
    }
}

#[test]
fn an_unusable_key_says_why() {
    let check = |pem: &str, pass_phrase: Option<&str>, expected: KeyError| {
        assert_eq!(read(pem, pass_phrase).err().unwrap(), expected);
    };
    check("", None, KeyError::NoKey);
    check("-----BEGIN PRIVATE KEY-----\nAAAA\n", None, KeyError::NoKey);
    check("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", None, KeyError::NotRsa);
    check("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----", None, KeyError::NotRsa);
    check(ENCRYPTED, None, KeyError::NoPassPhrase);
    check(ENCRYPTED, Some("wrong"), KeyError::WrongPassPhrase);
    check(ENCRYPTED_OLD, Some("correct"), KeyError::LegacyEncryption);
    let garbage = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAMCAQA=\n-----END ENCRYPTED PRIVATE KEY-----";
    check(garbage, Some("x"), KeyError::UnknownEncryption);
}

#[test]
fn every_truncated_encrypted_key_is_an_error() {
    let der = pem::Block::find(ENCRYPTED, "PRIVATE KEY").unwrap().der;
    for length in 0..der.len() {
        assert!(encrypted::decrypt(&der[..length], &"correct".into()).is_err(), "{length}");
    }
}

#[test]
fn a_key_with_too_many_iterations_is_refused() {
    let der = pem::Block::find(ENCRYPTED, "PRIVATE KEY").unwrap().der;
    // The iterations, 2048 in two bytes, are written in four; the five sequences around them grow by two.
    let at = der.windows(4).position(|window| window == [0x02, 0x02, 0x08, 0x00]).unwrap();
    let with_iterations = |iterations: [u8; 4]| {
        let mut changed = [&der[..at], &[0x02, 0x04], &iterations[..], &der[at + 4..]].concat();
        changed[3] += 2;
        for length in [0x57, 0x4a, 0x29, 0x1c] {
            let position = changed[..at].windows(2).position(|window| window == [0x30, length]).unwrap();
            changed[position + 1] += 2;
        }
        encrypted::decrypt(&changed, &"correct".into()).map(|_| ())
    };
    assert_eq!(with_iterations([0, 0, 0x08, 0]), Ok(()));
    assert_eq!(with_iterations([0x7f, 0xff, 0xff, 0xff]), Err(KeyError::UnknownEncryption));
}

#[test]
fn a_generated_key_signs_and_its_public_half_verifies() {
    let generated = GeneratedKey::generate().unwrap();
    let key = PrivateKey::from_pem(&generated.private_pem, None).unwrap();
    let public = PublicKey::from_pem(&generated.public_pem).unwrap();
    assert_eq!(key.fingerprint(), generated.fingerprint);
    assert_eq!(public.fingerprint(), generated.fingerprint);
    assert!(public.verifies(b"message", &key.sign(b"message")));
    assert!(!public.verifies(b"another", &key.sign(b"message")));
    assert!(
        !PublicKey::from_pem(&testing::public_pem()).unwrap().verifies(b"message", &key.sign(b"message"))
    );
}

#[test]
fn signatures_are_those_of_openssl() {
    let expected = include_str!("../../testdata/signature-of-x.base64").trim();
    let signature = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, testing::key().sign(b"x"));
    assert_eq!(signature, expected);
}
