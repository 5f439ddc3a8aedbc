//! Where a resource lives: the region and tenancy that its create was sent to, and the listing that shows it.
//!
//! A response proves something about a resource only if it comes from there. Another region, or a tenancy that is not
//! the resource's own, answers every question with "not found".

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The query parameters of the listing that shows a resource, such as `compartmentId`.
pub type Scope = BTreeMap<String, String>;

/// Where the calls of a reconcile go, and with whose credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub region: String,
    /// None if the credentials do not say; some tokens are opaque.
    pub tenancy: Option<String>,
    /// The Secret that holds the credentials; none for the operator's own.
    pub secret: Option<String>,
}

/// `.status.status.binding`: recorded with the intent of a create, and confirmed by every read of the resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Binding {
    /// The region of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The tenancy of the credentials that created or last read the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenancy: Option<String>,
    /// The Secret with these credentials; absent for the operator's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The parameters of the listing that shows the resource, such as compartmentId.
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub scope: Scope,
}

/// How a reconcile's identity relates to the one on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Same,
    /// Not on record, or only in part, as in objects of OSOK and of older versions.
    Unknown,
    /// Why they differ.
    Other(String),
}

impl Binding {
    pub(crate) fn new(identity: Option<&Identity>, scope: Scope) -> Self {
        Self {
            region: identity.map(|identity| identity.region.clone()),
            tenancy: identity.and_then(|identity| identity.tenancy.clone()),
            secret: identity.and_then(|identity| identity.secret.clone()),
            scope,
        }
    }

    pub(crate) fn compare(&self, identity: &Identity) -> Match {
        let Some(region) = &self.region else { return Match::Unknown };
        if *region != identity.region {
            return Match::Other(format!("is in region {region}, but the region is now {}", identity.region));
        }
        match (&self.tenancy, &identity.tenancy) {
            (Some(known), Some(now)) if known != now => {
                return Match::Other(format!("is in tenancy {known}, but the credentials are of {now}"));
            }
            (Some(known), None) => {
                return Match::Other(format!("is in tenancy {known}, but the credentials name no tenancy"));
            }
            (None, Some(_)) => return Match::Unknown,
            (Some(_), Some(_)) | (None, None) => {}
        }
        match (&self.secret, &identity.secret) {
            // The operator's own credentials may have rights that the namespace was never given.
            (Some(secret), None) => {
                Match::Other(format!("was bound with the Secret {secret}, which is missing"))
            }
            _ => Match::Same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(text: &str) -> Option<String> {
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn binding(region: &str, tenancy: &str, secret: &str) -> Binding {
        let scope = Scope::new();
        Binding { region: some(region), tenancy: some(tenancy), secret: some(secret), scope }
    }

    #[test]
    fn only_the_region_tenancy_and_credentials_on_record_prove_something() {
        let check = |binding: Binding, now: (&str, &str, &str), expected: &str| {
            let identity = Identity { region: now.0.to_owned(), tenancy: some(now.1), secret: some(now.2) };
            let found = match binding.compare(&identity) {
                Match::Same => "same".to_owned(),
                Match::Unknown => "unknown".to_owned(),
                Match::Other(why) => why,
            };
            assert_eq!(found, expected, "{binding:?} {identity:?}");
        };
        let own = ("phx", "t1", "");
        check(binding("phx", "t1", ""), own, "same");
        check(binding("", "", ""), own, "unknown");
        check(binding("phx", "", ""), own, "unknown");
        check(binding("phx", "", ""), ("phx", "", ""), "same");
        check(binding("iad", "t1", ""), own, "is in region iad, but the region is now phx");
        check(binding("phx", "t2", ""), own, "is in tenancy t2, but the credentials are of t1");
        check(
            binding("phx", "t1", ""),
            ("phx", "", ""),
            "is in tenancy t1, but the credentials name no tenancy",
        );
        // A namespace may get credentials of its own; it must not lose them to the operator's.
        check(binding("phx", "t1", ""), ("phx", "t1", "s"), "same");
        check(binding("phx", "t1", "s"), ("phx", "t1", "s"), "same");
        check(binding("phx", "t1", "s"), own, "was bound with the Secret s, which is missing");
    }
}
