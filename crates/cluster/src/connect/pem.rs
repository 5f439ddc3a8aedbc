//! Certificates and keys as users paste them: PEM, or PEM in base64.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::ConnectError;
use crate::Secret;

/// A client certificate with its key, both PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) certificate: Secret,
    pub(crate) key: Secret,
}

impl Identity {
    /// Checks that both texts are valid; `names` are the settings they come from.
    pub(crate) fn new(certificate: Secret, key: Secret, names: [&str; 2]) -> Result<Self, ConnectError> {
        certificates(&certificate, names[0])?;
        PrivateKeyDer::from_pem_slice(key.expose().as_bytes())
            .map_err(|_| problem(names[1], "contains no private key in PEM"))?;
        Ok(Self { certificate, key })
    }
}

/// The PEM in `text`, which is PEM or base64 of PEM.
pub(crate) fn pem(text: &str, name: &str) -> Result<Secret, ConnectError> {
    let text = text.trim();
    if text.starts_with("-----BEGIN") {
        return Ok(Secret::from(text));
    }
    let compact: String = text.split_whitespace().collect();
    let decoded = BASE64_STANDARD
        .decode(compact)
        .map_err(|_| problem(name, "is neither PEM nor base64-encoded PEM"))?;
    match String::from_utf8(decoded) {
        Ok(pem) if pem.trim_start().starts_with("-----BEGIN") => Ok(Secret::from(pem)),
        _ => Err(problem(name, "is base64, but does not decode to PEM")),
    }
}

/// The certificates in `pem`, at least one.
pub(crate) fn certificates(pem: &Secret, name: &str) -> Result<Vec<Vec<u8>>, ConnectError> {
    let found: Vec<Vec<u8>> = CertificateDer::pem_slice_iter(pem.expose().as_bytes())
        .map(|certificate| certificate.map(|der| der.to_vec()))
        .collect::<Result<_, _>>()
        .map_err(|_| problem(name, "is malformed PEM"))?;
    if found.is_empty() { Err(problem(name, "contains no certificate")) } else { Ok(found) }
}

pub(super) fn problem(what: &str, problem: &'static str) -> ConnectError {
    ConnectError::Pem { what: what.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nAAECAw==\n-----END CERTIFICATE-----\n";

    #[test]
    fn certificates_may_be_pem_or_base64_of_pem() {
        let check = |text: &str, expected: Result<usize, &str>| {
            let found = pem(text, "cluster_ca_certificate")
                .and_then(|pem| certificates(&pem, "cluster_ca_certificate"))
                .map(|found| found.len())
                .map_err(|error| error.to_string());
            assert_eq!(found.as_ref().map(|n| *n).map_err(String::as_str), expected, "{text}");
        };
        check(CERTIFICATE, Ok(1));
        check(&format!("\n  {CERTIFICATE}{CERTIFICATE}"), Ok(2));
        check(&BASE64_STANDARD.encode(CERTIFICATE), Ok(1));
        check(&format!("LS0t\n{}", &BASE64_STANDARD.encode(CERTIFICATE)[4..]), Ok(1));
        check("hunter2!", Err("cluster_ca_certificate is neither PEM nor base64-encoded PEM"));
        check("aHVudGVyMg==", Err("cluster_ca_certificate is base64, but does not decode to PEM"));
        check(
            "-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----",
            Err("cluster_ca_certificate is malformed PEM"),
        );
        check(
            "-----BEGIN PUBLIC KEY-----\nAAECAw==\n-----END PUBLIC KEY-----",
            Err("cluster_ca_certificate contains no certificate"),
        );
    }

    #[test]
    fn an_invalid_key_is_reported_by_its_setting() {
        let error =
            Identity::new(CERTIFICATE.into(), CERTIFICATE.into(), ["client_certificate", "client_key"]);
        assert_eq!(error.unwrap_err().to_string(), "client_key contains no private key in PEM");
    }
}
