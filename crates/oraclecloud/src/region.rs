//! Regions and the domains of their realms, from which the hosts of services follow.

use serde::Deserialize;

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
        if let Some(extra) = metadata.map(str::trim).filter(|text| !text.is_empty()) {
            let extra: Metadata = serde_json::from_str(extra).map_err(RegionError::Metadata)?;
            if extra.region_identifier.eq_ignore_ascii_case(&name)
                || extra.region_key.eq_ignore_ascii_case(&name)
            {
                return Self::new(extra.region_identifier.to_ascii_lowercase(), extra.realm_domain_component);
            }
        }
        for realm in REALMS {
            if let Some((_, known)) = realm.regions.iter().find(|(key, known)| *key == name || *known == name)
            {
                return Ok(Self { name: (*known).to_owned(), domain: realm.domain.to_owned() });
            }
        }
        Self::new(name, REALMS[0].domain.to_owned())
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    realm_domain_component: String,
    region_key: String,
    region_identifier: String,
}

struct Realm {
    domain: &'static str,
    /// Key and identifier.
    regions: &'static [(&'static str, &'static str)],
}

/// The realms in the order of their numbers, the commercial one first.
const REALMS: &[Realm] = &[
    Realm {
        domain: "oraclecloud.com",
        regions: &[
            ("yny", "ap-chuncheon-1"),
            ("hyd", "ap-hyderabad-1"),
            ("mel", "ap-melbourne-1"),
            ("bom", "ap-mumbai-1"),
            ("kix", "ap-osaka-1"),
            ("icn", "ap-seoul-1"),
            ("syd", "ap-sydney-1"),
            ("nrt", "ap-tokyo-1"),
            ("yul", "ca-montreal-1"),
            ("yyz", "ca-toronto-1"),
            ("ams", "eu-amsterdam-1"),
            ("fra", "eu-frankfurt-1"),
            ("zrh", "eu-zurich-1"),
            ("jed", "me-jeddah-1"),
            ("dxb", "me-dubai-1"),
            ("gru", "sa-saopaulo-1"),
            ("cwl", "uk-cardiff-1"),
            ("lhr", "uk-london-1"),
            ("iad", "us-ashburn-1"),
            ("phx", "us-phoenix-1"),
            ("sjc", "us-sanjose-1"),
            ("vcp", "sa-vinhedo-1"),
            ("scl", "sa-santiago-1"),
            ("mtz", "il-jerusalem-1"),
            ("mrs", "eu-marseille-1"),
            ("sin", "ap-singapore-1"),
            ("auh", "me-abudhabi-1"),
            ("lin", "eu-milan-1"),
            ("arn", "eu-stockholm-1"),
            ("jnb", "af-johannesburg-1"),
            ("cdg", "eu-paris-1"),
            ("qro", "mx-queretaro-1"),
            ("mad", "eu-madrid-1"),
            ("ord", "us-chicago-1"),
            ("mty", "mx-monterrey-1"),
            ("aga", "us-saltlake-2"),
            ("bog", "sa-bogota-1"),
            ("vap", "sa-valparaiso-1"),
            ("xsp", "ap-singapore-2"),
            ("ruh", "me-riyadh-1"),
            ("onm", "ap-delhi-1"),
            ("hsg", "ap-batam-1"),
            ("orf", "eu-madrid-3"),
            ("nrq", "eu-turin-1"),
            ("jbp", "ap-kulai-2"),
            ("lej", "af-casablanca-1"),
        ],
    },
    Realm { domain: "oraclegovcloud.com", regions: &[("lfi", "us-langley-1"), ("luf", "us-luke-1")] },
    Realm {
        domain: "oraclegovcloud.com",
        regions: &[("ric", "us-gov-ashburn-1"), ("pia", "us-gov-chicago-1"), ("tus", "us-gov-phoenix-1")],
    },
    Realm {
        domain: "oraclegovcloud.uk",
        regions: &[("ltn", "uk-gov-london-1"), ("brs", "uk-gov-cardiff-1")],
    },
    Realm { domain: "oraclecloud8.com", regions: &[("nja", "ap-chiyoda-1"), ("ukb", "ap-ibaraki-1")] },
    Realm { domain: "oraclecloud9.com", regions: &[("mct", "me-dcc-muscat-1"), ("ibr", "me-ibri-1")] },
    Realm { domain: "oraclecloud10.com", regions: &[("wga", "ap-dcc-canberra-1")] },
    Realm {
        domain: "oraclecloud14.com",
        regions: &[
            ("bgy", "eu-dcc-milan-1"),
            ("mxp", "eu-dcc-milan-2"),
            ("snn", "eu-dcc-dublin-2"),
            ("dtm", "eu-dcc-rating-2"),
            ("dus", "eu-dcc-rating-1"),
            ("ork", "eu-dcc-dublin-1"),
        ],
    },
    Realm { domain: "oraclecloud15.com", regions: &[("dac", "ap-dcc-gazipur-1")] },
    Realm { domain: "oraclecloud.eu", regions: &[("vll", "eu-madrid-2"), ("str", "eu-frankfurt-2")] },
    Realm { domain: "oraclecloud20.com", regions: &[("beg", "eu-jovanovac-1")] },
    Realm { domain: "oraclecloud21.com", regions: &[("doh", "me-dcc-doha-1"), ("vve", "me-alrayyan-1")] },
    Realm { domain: "oraclecloud23.com", regions: &[("ebb", "us-somerset-1"), ("ebl", "us-thames-1")] },
    Realm { domain: "oraclecloud24.com", regions: &[("avz", "eu-dcc-zurich-1"), ("avf", "eu-crissier-1")] },
    Realm { domain: "oraclecloud26.com", regions: &[("ahu", "me-abudhabi-3"), ("rba", "me-alain-1")] },
    Realm { domain: "oraclecloud29.com", regions: &[("rkt", "me-abudhabi-2"), ("shj", "me-abudhabi-4")] },
    Realm {
        domain: "oraclecloud35.com",
        regions: &[("dtz", "ap-seoul-2"), ("dln", "ap-suwon-1"), ("bno", "ap-chuncheon-2")],
    },
    Realm { domain: "oraclecloud42.com", regions: &[("yxj", "us-ashburn-2"), ("pgc", "us-newark-1")] },
    Realm { domain: "oraclecloud51.com", regions: &[("jsk", "eu-budapest-1")] },
    Realm { domain: "oraclecloud52.com", regions: &[("hnw", "sa-riodejaneiro-1")] },
];

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
