//! What holds for any bytes a cloud or a Secret could hold: property tests and cargo-fuzz both drive it.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use secrecy::SecretString;

use crate::auth;
use crate::key::{PrivateKey, PublicKey, pem};
use crate::page::items;
use crate::resources::explanation;
use crate::response::{Received, required_json};

/// Bytes are a key or a certificate, or are refused, as PEM and as DER.
pub fn keys(bytes: &[u8]) {
    let pass_phrase = SecretString::from("pass phrase");
    let as_pem = |label: &str| pem::encode(label, bytes);
    let labels = ["PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PUBLIC KEY", "CERTIFICATE"];
    let texts = labels.iter().map(|label| as_pem(label));
    for text in texts.chain([String::from_utf8_lossy(bytes).into_owned()]) {
        drop(PublicKey::from_pem(&text));
        drop(PrivateKey::from_pem(&text.into(), Some(&pass_phrase)));
    }
    auth::fuzz_certificate(bytes);
}

/// Bytes are a listing of entries, or an error with one short line per text. The first byte chooses the status.
pub fn response(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let status = [StatusCode::OK, StatusCode::NOT_FOUND, StatusCode::BAD_GATEWAY][usize::from(choice % 3)];
    let body = Ok(Bytes::copy_from_slice(bytes));
    let received = Received { status, headers: HeaderMap::new(), body };
    let response = received.into_result("List", Timestamp::UNIX_EPOCH);
    match response.and_then(|response| required_json(response, "List")) {
        Ok(response) => {
            for entry in items(response.body).unwrap_or_default() {
                is_short_line(&explanation(&entry));
            }
        }
        Err(error) => is_short_line(&error.to_string()),
    }
}

fn is_short_line(text: &str) {
    assert!(text.chars().count() < 4096 && !text.contains(char::is_control), "{text:?}");
}

#[cfg(test)]
proptest::proptest! {
    #[test]
    fn any_bytes_are_a_key_or_refused(bytes: Vec<u8>) {
        keys(&bytes);
    }

    #[test]
    fn any_bytes_are_a_listing_or_an_error(bytes: Vec<u8>) {
        response(&bytes);
    }
}
