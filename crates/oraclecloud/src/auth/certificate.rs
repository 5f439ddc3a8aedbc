//! The certificate of an instance: which tenancy it belongs to, and how a request signed with its key names it.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::der::{Der, EXPLICIT_0, INTEGER, SEQUENCE, SET};
use crate::key::hex_pairs;

/// The prefixes of the subject's part that names the tenancy; the second is an older name.
const TENANCY_PREFIXES: [&str; 2] = ["opc-tenant:", "opc-identity:"];

/// Every certificate in a PEM text.
pub(super) fn all(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).flatten().collect()
}

/// The tenancy that the subject of a certificate names.
pub(super) fn tenancy(der: &[u8]) -> Option<String> {
    let mut certificate = Der(Der(der).take(SEQUENCE)?);
    let mut signed = Der(certificate.take(SEQUENCE)?);
    let _version = signed.take(EXPLICIT_0);
    let _serial = signed.take(INTEGER)?;
    let (_algorithm, _issuer, _validity) =
        (signed.take(SEQUENCE)?, signed.take(SEQUENCE)?, signed.take(SEQUENCE)?);
    let mut subject = Der(signed.take(SEQUENCE)?);
    while let Some(names) = subject.take(SET) {
        let mut names = Der(names);
        while let Some(name) = names.take(SEQUENCE) {
            let mut name = Der(name);
            let (_type, value) = (name.any()?, name.any()?);
            let value = std::str::from_utf8(value).unwrap_or_default();
            if let Some(tenancy) = TENANCY_PREFIXES.iter().find_map(|prefix| value.strip_prefix(prefix)) {
                return Some(tenancy.to_owned());
            }
        }
    }
    None
}

/// The SHA-256 of a certificate, in pairs of digits.
pub(super) fn fingerprint(der: &[u8]) -> String {
    hex_pairs(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, der).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(units: &[&str]) -> (String, Vec<u8>) {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::default();
        for (number, unit) in units.iter().enumerate() {
            // rcgen allows each type once per subject; which type it is does not matter.
            let kind = rcgen::DnType::CustomDnType(vec![2, 5, 4, 100 + number as u64]);
            parameters.distinguished_name.push(kind, *unit);
        }
        let certificate = parameters.self_signed(&key).unwrap();
        (certificate.pem(), certificate.der().to_vec())
    }

    #[test]
    fn the_tenancy_is_in_the_subject() {
        let check = |units: &[&str], expected: Option<&str>| {
            assert_eq!(tenancy(&certificate(units).1).as_deref(), expected, "{units:?}");
        };
        check(&["opc-certtype:instance", "opc-tenant:ocid1.tenancy.oc1..t"], Some("ocid1.tenancy.oc1..t"));
        check(&["opc-identity:ocid1.tenancy.oc1..old"], Some("ocid1.tenancy.oc1..old"));
        check(&["tenant:no"], None);
        check(&[], None);
    }

    #[test]
    fn a_malformed_certificate_names_no_tenancy() {
        let (_, der) = certificate(&["opc-tenant:t"]);
        for end in 0..der.len() {
            let _never_a_panic = tenancy(&der[..end]);
        }
        assert_eq!(tenancy(&der[..der.len() / 4]), None);
        assert_eq!(tenancy(b"0\x84\xff\xff\xff\xff"), None);
        assert_eq!(all("-----BEGIN CERTIFICATE-----\nAAAA\n"), []);
    }

    #[test]
    fn every_certificate_of_a_bundle_is_found() {
        let (one, other) = (certificate(&["a"]), certificate(&["b"]));
        let bundle = all(&format!("{}\n{}", one.0, other.0));
        assert_eq!(bundle.iter().map(|der| der.to_vec()).collect::<Vec<_>>(), [one.1, other.1]);
    }
}
