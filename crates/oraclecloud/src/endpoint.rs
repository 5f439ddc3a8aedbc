//! The address of a service: its host in a region, or a configured override.

use std::collections::HashMap;
use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;

use crate::kind::{Address, Embedded, Service};
use crate::region::Region;

/// Where a call goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// The service's name in an override.
    name: &'static str,
    /// The version of its API, which starts every path; may be empty.
    version: &'static str,
    host: &'static str,
}

impl Target {
    pub(crate) fn of(service: &'static Service) -> Self {
        Self { name: &service.name, version: &service.version, host: &service.host }
    }

    pub(crate) fn at(address: &'static Address) -> Self {
        Self { name: &address.name, version: &address.version, host: &address.host }
    }
}

/// The name of the authentication service in an override.
const AUTH: &str = "auth";

/// What stands for the region in an override.
const REGION: &str = "{region}";
/// What stands for the service in an override.
const SERVICE: &str = "{service}";
/// What stands for the domain of the realm in a host.
const DOMAIN: &str = "{domain}";

/// Overrides of a region's addresses.
#[derive(Clone, Debug, Default)]
pub struct Endpoints {
    all: Option<String>,
    of_service: HashMap<String, String>,
    /// Services beside those of the program.
    known: Vec<&'static str>,
}

impl Endpoints {
    /// Adds an override, `URL` or `SERVICE=URL`; `{region}` in it stands for the region's identifier, and `{service}` for the
    /// name of the service. One for a service takes precedence over one for all; of two for the same service the later one
    /// counts.
    pub fn add(&mut self, text: &str) -> Result<(), EndpointError> {
        match text.split_once('=') {
            // A query could contain `=`, too, but an address with a query is refused anyway.
            Some((name, url)) if !name.contains("://") => {
                let name = name.trim();
                let embedded = Embedded::all().iter().map(|embedded| embedded.service);
                if !embedded.chain([AUTH]).chain(self.known.iter().copied()).any(|known| known == name) {
                    return Err(EndpointError::Service(name.to_owned()));
                }
                self.of_service.insert(name.to_owned(), check_base(url.trim())?);
            }
            _ => self.all = Some(check_base(text.trim())?),
        }
        Ok(())
    }

    /// Accepts overrides for a service that the program does not have.
    pub fn know(&mut self, service: &'static Service) {
        self.known.push(&service.name);
    }

    /// The address of a path, which starts with a slash and is encoded already.
    pub(crate) fn uri(&self, target: Target, region: &Region, path_and_query: &str) -> Uri {
        let host = target.host.replace(REGION, region.name()).replace(DOMAIN, region.domain());
        let slash = if target.version.is_empty() { "" } else { "/" };
        let path = format!("{slash}{}{path_and_query}", target.version);
        self.resolve(target.name, region, &host, &path)
    }

    /// The address at which the authentication service issues tokens for certificates.
    pub(crate) fn federation(&self, region: &Region) -> Uri {
        self.resolve(AUTH, region, &format!("auth.{}.{}", region.name(), region.domain()), "/v1/x509")
    }

    fn resolve(&self, service: &str, region: &Region, host: &str, path: &str) -> Uri {
        let address = match self.of_service.get(service).or(self.all.as_ref()) {
            Some(base) => format!("{}{path}", base.replace(REGION, region.name()).replace(SERVICE, service)),
            None => format!("https://{host}{path}"),
        };
        address.parse().expect("a checked base and an encoded path make an address")
    }
}

/// Checks scheme, host and an optional path; returns them without a trailing slash.
fn check_base(text: &str) -> Result<String, EndpointError> {
    let invalid = || EndpointError::Url(text.to_owned());
    let plain = text.replace(REGION, "region").replace(SERVICE, "service");
    let uri: Uri = plain.parse().map_err(|_| invalid())?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(invalid)?;
    if uri.query().is_some() || uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(invalid());
    }
    match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTPS => {}
        Some(scheme) if *scheme == Scheme::HTTP && is_loopback(host) => {}
        Some(scheme) if *scheme == Scheme::HTTP => return Err(EndpointError::Plain(host.to_owned())),
        _ => return Err(invalid()),
    }
    Ok(text.trim_end_matches('/').to_owned())
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Why an address is unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("`{0}` is not an address such as https://host or http://127.0.0.1:8080")]
    Url(String),
    /// Requests would cross the network unprotected.
    #[error("{0} is not this machine, and plain http is for this machine only; use https")]
    Plain(String),
    #[error(
        "unknown service `{0}`; use the first part of an API group, for instance queue or streaming, or auth"
    )]
    Service(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(overrides: &[&str], kind: &str) -> String {
        let mut endpoints = Endpoints::default();
        for text in overrides {
            endpoints.add(text).unwrap();
        }
        let region = Region::resolve("us-phoenix-1", None).unwrap();
        let kind = crate::Catalogue::standard().get(kind).unwrap();
        endpoints.uri(Target::of(kind.service), &region, "/things?a=b").to_string()
    }

    #[test]
    fn tokens_come_from_the_region_or_an_override() {
        let check = |overrides: &[&str], region: &str, expected: &str| {
            let mut endpoints = Endpoints::default();
            for text in overrides {
                endpoints.add(text).unwrap();
            }
            let region = Region::resolve(region, None).unwrap();
            assert_eq!(endpoints.federation(&region).to_string(), expected);
        };
        check(&[], "phx", "https://auth.us-phoenix-1.oraclecloud.com/v1/x509");
        check(&[], "us-langley-1", "https://auth.us-langley-1.oraclegovcloud.com/v1/x509");
        check(&["http://127.0.0.1:80"], "phx", "http://127.0.0.1:80/v1/x509");
        check(&["auth=https://a/", "https://b"], "phx", "https://a/v1/x509");
        check(&["queue=https://a"], "phx", "https://auth.us-phoenix-1.oraclecloud.com/v1/x509");
    }

    #[test]
    fn a_service_is_in_its_region_or_at_an_override() {
        let check = |overrides: &[&str], queue: &str, streaming: &str| {
            assert_eq!(uri(overrides, "queue/Queue"), format!("{queue}/20210201/things?a=b"));
            assert_eq!(uri(overrides, "streaming/Stream"), format!("{streaming}/20180418/things?a=b"));
        };
        let (queue, streaming) = (
            "https://messaging.us-phoenix-1.oci.oraclecloud.com",
            "https://streaming.us-phoenix-1.oci.oraclecloud.com",
        );
        check(&[], queue, streaming);
        check(&["http://127.0.0.1:80"], "http://127.0.0.1:80", "http://127.0.0.1:80");
        check(&["http://[::1]:80/"], "http://[::1]:80", "http://[::1]:80");
        check(&["queue=http://localhost:80"], "http://localhost:80", streaming);
        check(&["streaming=https://proxy/oci", "https://x"], "https://x", "https://proxy/oci");
        check(&["queue=https://a", "queue=https://b"], "https://b", streaming);
        check(
            &["https://a/{region}/{service}"],
            "https://a/us-phoenix-1/queue",
            "https://a/us-phoenix-1/streaming",
        );
    }

    #[test]
    fn an_unusable_address_is_refused_with_a_reason() {
        let check = |text: &str, expected: EndpointError| {
            assert_eq!(Endpoints::default().add(text), Err(expected));
        };
        check("http://example.com", EndpointError::Plain("example.com".to_owned()));
        check("http://127.0.0.1.example.com", EndpointError::Plain("127.0.0.1.example.com".to_owned()));
        check("http://10.0.0.1:80", EndpointError::Plain("10.0.0.1".to_owned()));
        check("vcn=https://x", EndpointError::Service("vcn".to_owned()));
        check("=https://x", EndpointError::Service(String::new()));
        for text in ["", "example.com", "ftp://x", "https://", "https://x?a=b", "http://evil@127.0.0.1"] {
            check(text, EndpointError::Url(text.to_owned()));
        }
    }
}
