//! The certificate of an instance: whose it is, and how a request that it vouches for names it.

use aws_lc_rs::digest;

use crate::der::{Der, EXPLICIT_0, INTEGER, SEQUENCE, SET};
use crate::key::pem::Block;

/// The beginning of the part of a subject that names the tenancy; the second one is an older name for it.
const TENANCY: [&str; 2] = ["opc-tenant:", "opc-identity:"];

/// Every certificate in a PEM text, as DER.
pub(super) fn all(pem: &str) -> Vec<Vec<u8>> {
    let parts = pem.split_inclusive("-----END CERTIFICATE-----");
    parts.filter_map(|part| Some(Block::find(part, "CERTIFICATE")?.der.to_vec())).collect()
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
            let (_kind, value) = (name.any()?, name.any()?);
            let value = std::str::from_utf8(value).unwrap_or_default();
            if let Some(tenancy) = TENANCY.iter().find_map(|prefix| value.strip_prefix(prefix)) {
                return Some(tenancy.to_owned());
            }
        }
    }
    None
}

/// The SHA-256 of a certificate in pairs of digits.
pub(super) fn fingerprint(der: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, der);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(units: &[&str]) -> (String, Vec<u8>) {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::default();
        for (number, unit) in units.iter().enumerate() {
            // One type can be in a subject once in this library, and the type does not matter.
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
    fn what_is_no_certificate_names_nobody() {
        let (_, der) = certificate(&["opc-tenant:t"]);
        for end in 0..der.len() {
            let _never_a_panic = tenancy(&der[..end]);
        }
        assert_eq!(tenancy(&der[..der.len() / 4]), None);
        assert_eq!(tenancy(b"0\x84\xff\xff\xff\xff"), None);
        assert_eq!(all("-----BEGIN CERTIFICATE-----\nAAAA\n"), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn every_certificate_of_a_bundle_is_found() {
        let (one, other) = (certificate(&["a"]), certificate(&["b"]));
        assert_eq!(all(&format!("{}\n{}", one.0, other.0)), [one.1, other.1]);
    }
}
