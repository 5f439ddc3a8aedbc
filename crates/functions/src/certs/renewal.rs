//! When a certificate has to be replaced: long before it expires.
//!
//! An engine and functions that use this crate notice a new certificate at their next connection. Many functions read theirs
//! only when they start, so a new one has to be there long enough that each has been restarted for other reasons.

use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::parse_x509_certificate;

use super::Authority;
use crate::tls::Pem;

/// The time in which a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub from: Timestamp,
    pub until: Timestamp,
}

impl Validity {
    /// Of the first certificate in `pem`; nothing if there is none.
    pub fn of(pem: &[u8]) -> Option<Self> {
        let certificate = CertificateDer::from_pem_slice(pem).ok()?;
        let (_, certificate) = parse_x509_certificate(&certificate).ok()?;
        let (from, until) = (certificate.validity().not_before, certificate.validity().not_after);
        let timestamp = |time: x509_parser::time::ASN1Time| Timestamp::from_second(time.timestamp()).ok();
        Some(Self { from: timestamp(from)?, until: timestamp(until)? })
    }

    /// Whether less than a third of it is left.
    fn is_ending(self, now: Timestamp) -> bool {
        let left = self.until.duration_since(now);
        left < self.until.duration_since(self.from) / 3
    }
}

/// Whether the function at the host `name` needs another certificate than `server`: it is not valid there, it ends soon, or
/// the authority has changed.
pub fn is_renewal_due(authority: &Authority, server: &Pem, name: &str, now: Timestamp) -> bool {
    !authority.accepts(server, name, now)
        || Validity::of(&server.certificate).is_none_or(|validity| validity.is_ending(now))
        || server.authority != authority.pem().authority
}

impl Authority {
    /// Whether it would expire before a certificate that it issues now for so many days.
    pub fn is_ending(&self, days: u16, now: Timestamp) -> bool {
        let until = now + SignedDuration::from_hours(24 * i64::from(days));
        Validity::of(&self.pem().certificate).is_none_or(|validity| validity.until < until)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AUTHORITY_DAYS, service_names};
    use super::*;

    const NAME: &str = "fn.system";
    const DAYS: u16 = 90;

    fn at(day: i64) -> Timestamp {
        let start: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        start + SignedDuration::from_hours(24 * day)
    }

    fn issue(authority: &Authority, name: &str, day: i64) -> Pem {
        authority.issue_server(name, &service_names(name), DAYS, at(day)).unwrap()
    }

    #[test]
    fn a_certificate_is_renewed_when_a_third_of_its_life_is_left() {
        let authority = Authority::create(AUTHORITY_DAYS, at(0)).unwrap();
        let server = issue(&authority, NAME, 0);
        let check = |name: &str, day: i64, expected: bool| {
            assert_eq!(is_renewal_due(&authority, &server, name, at(day)), expected, "{name} on day {day}");
        };
        check(NAME, 0, false);
        check(NAME, 58, false);
        check(NAME, 61, true);
        check(NAME, 91, true);
        check("fn.system.svc", 0, false);
        check("other.system", 0, true);
        let dates = Validity::of(&server.certificate).unwrap();
        assert_eq!(
            (dates.from.to_string(), dates.until.to_string()),
            ("2025-12-31T00:00:00Z".to_owned(), "2026-04-01T00:00:00Z".to_owned())
        );
        assert_eq!(Validity::of(b"no certificate"), None);
    }

    #[test]
    fn another_authority_means_another_certificate_and_a_renewed_one_accepts_the_old() {
        let authority = Authority::create(AUTHORITY_DAYS, at(0)).unwrap();
        let server = issue(&authority, NAME, 0);
        let other = Authority::create(AUTHORITY_DAYS, at(0)).unwrap();
        assert!(is_renewal_due(&other, &server, NAME, at(0)));
        assert!(!authority.is_ending(DAYS, at(3500)));
        assert!(authority.is_ending(DAYS, at(3600)));
        let stored = authority.pem();
        let read = Authority::from_pem(&stored.certificate, &stored.key).unwrap();
        let renewed = read.renewed(AUTHORITY_DAYS, at(3600)).unwrap();
        assert!(!renewed.is_ending(DAYS, at(3600)));
        // Either side may still have the old certificates when the other has the new ones.
        let old = issue(&authority, NAME, 3590);
        assert!(renewed.accepts(&old, NAME, at(3600)));
        assert!(authority.accepts(&issue(&renewed, NAME, 3600), NAME, at(3600)));
        assert!(is_renewal_due(&renewed, &old, NAME, at(3600)), "peers learn of the new dates");
    }
}
