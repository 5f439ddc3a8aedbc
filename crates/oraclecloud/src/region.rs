//! Regions and the domains of their realms, from which the hosts of services follow.

use serde::Deserialize;

const COMMERCIAL_DOMAIN: &str = "oraclecloud.com";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    name: String,
    domain: String,
}

impl Region {
    /// The region that a configuration names, by identifier (`us-phoenix-1`) or key (`phx`).
    ///
    /// `metadata` is the value of `OCI_REGION_METADATA`, which describes one more region. An unknown region is assumed to
    /// be a new one of the commercial realm, as Oracle's own clients do.
    pub fn resolve(name: &str, metadata: Option<&str>) -> Result<Self, RegionError> {
        let name = name.trim().to_ascii_lowercase();
        let mut regions: Vec<Metadata> =
            serde_json::from_str(include_str!("regions.json")).expect("the table of regions is valid");
        if let Some(extra) = metadata.map(str::trim).filter(|text| !text.is_empty()) {
            regions.insert(0, serde_json::from_str(extra).map_err(RegionError::Metadata)?);
        }
        match regions.into_iter().find(|region| region.is_named(&name)) {
            Some(region) => {
                Self::new(region.region_identifier.to_ascii_lowercase(), region.realm_domain_component)
            }
            None => Self::new(name, COMMERCIAL_DOMAIN.to_owned()),
        }
    }

    /// A name becomes part of a host and must not lead to another host.
    fn new(name: String, domain: String) -> Result<Self, RegionError> {
        let is_label = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if !is_label(&name) {
            return Err(RegionError::Name(name));
        }
        if !domain.split('.').all(is_label) {
            return Err(RegionError::Domain(domain));
        }
        Ok(Self { name, domain })
    }

    /// Its identifier: `us-phoenix-1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The domain of its realm: `oraclecloud.com`.
    pub fn domain(&self) -> &str {
        &self.domain
    }
}

/// Why a region is unusable.
#[derive(Debug, thiserror::Error)]
pub enum RegionError {
    #[error("`{0}` is not the name of a region, such as us-phoenix-1")]
    Name(String),
    #[error("realmDomainComponent `{0}` in OCI_REGION_METADATA is not a domain")]
    Domain(String),
    #[error(
        "OCI_REGION_METADATA is not a JSON object of realmKey, realmDomainComponent, regionKey and regionIdentifier"
    )]
    Metadata(#[source] serde_json::Error),
}

/// One region as Oracle's own clients describe it, in `regions.json` and in `OCI_REGION_METADATA`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    realm_domain_component: String,
    region_key: String,
    region_identifier: String,
}

impl Metadata {
    fn is_named(&self, name: &str) -> bool {
        [&self.region_identifier, &self.region_key].iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_known_by_its_identifier_and_by_its_key() {
        let check = |name: &str, expected: &str, domain: &str| {
            let region = Region::resolve(name, None).unwrap();
            assert_eq!((region.name(), region.domain()), (expected, domain), "{name}");
        };
        check("us-phoenix-1", "us-phoenix-1", "oraclecloud.com");
        check("phx", "us-phoenix-1", "oraclecloud.com");
        check(" PHX ", "us-phoenix-1", "oraclecloud.com");
        check("us-gov-phoenix-1", "us-gov-phoenix-1", "oraclegovcloud.com");
        check("ltn", "uk-gov-london-1", "oraclegovcloud.uk");
        check("eu-frankfurt-2", "eu-frankfurt-2", "oraclecloud.eu");
        check("ap-newland-7", "ap-newland-7", "oraclecloud.com");
    }

    #[test]
    fn metadata_describes_one_more_region() {
        let metadata = r#"{"realmKey":"OC99","realmDomainComponent":"cloud.example","regionKey":"ABC","regionIdentifier":"xx-private-1"}"#;
        for name in ["xx-private-1", "abc"] {
            let region = Region::resolve(name, Some(metadata)).unwrap();
            assert_eq!((region.name(), region.domain()), ("xx-private-1", "cloud.example"), "{name}");
        }
        assert_eq!(Region::resolve("phx", Some(metadata)).unwrap().domain(), "oraclecloud.com");
        assert_eq!(Region::resolve("phx", Some("  ")).unwrap().domain(), "oraclecloud.com");
    }

    #[test]
    fn a_name_that_would_change_the_host_is_refused() {
        let message =
            |name: &str, metadata: Option<&str>| Region::resolve(name, metadata).unwrap_err().to_string();
        assert_eq!(
            message("evil.example/", None),
            "`evil.example/` is not the name of a region, such as us-phoenix-1"
        );
        assert_eq!(message("", None), "`` is not the name of a region, such as us-phoenix-1");
        assert!(message("phx", Some("{}")).starts_with("OCI_REGION_METADATA is not a JSON object"));
        let domain =
            r#"{"realmKey":"x","realmDomainComponent":"a/b","regionKey":"x","regionIdentifier":"x"}"#;
        assert_eq!(
            message("x", Some(domain)),
            "realmDomainComponent `a/b` in OCI_REGION_METADATA is not a domain"
        );
    }
}
