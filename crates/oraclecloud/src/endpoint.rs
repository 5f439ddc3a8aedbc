//! Where a service is: its host in a region, or the address somebody gave instead.

use std::net::IpAddr;
use std::str::FromStr;

use http::Uri;
use http::uri::Scheme;

use crate::region::Region;

/// A service of Oracle Cloud that we talk to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// The control plane of Queue, with its work requests.
    Queue,
    /// The control plane of Streaming.
    Streaming,
}

impl Service {
    /// Every service.
    pub const ALL: [Self; 2] = [Self::Queue, Self::Streaming];

    /// Its name in an override.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Streaming => "streaming",
        }
    }

    /// The version of its API, which is the first part of every path.
    pub const fn version(self) -> &'static str {
        match self {
            Self::Queue => "20210201",
            Self::Streaming => "20180418",
        }
    }

    const fn host_prefix(self) -> &'static str {
        match self {
            Self::Queue => "messaging",
            Self::Streaming => "streaming",
        }
    }
}

/// The name of the authentication service in an override.
const AUTH: &str = "auth";

/// Addresses that are used instead of a region's.
#[derive(Clone, Debug, Default)]
pub struct Endpoints {
    every: Option<Base>,
    queue: Option<Base>,
    streaming: Option<Base>,
    auth: Option<Base>,
}

impl Endpoints {
    /// Adds an override as people write it, `URL` or `SERVICE=URL`. One for a service goes before one for all; of two
    /// for the same the later one counts.
    pub fn add(&mut self, text: &str) -> Result<(), EndpointError> {
        let text = text.trim();
        let (service, url) = match text.split_once('=') {
            // A query could have a `=` as well, but an address with a query is refused anyway.
            Some((name, url)) if name.trim() == AUTH => {
                self.auth = Some(url.trim().parse()?);
                return Ok(());
            }
            Some((name, url)) if !name.contains("://") => {
                let service = Service::ALL.into_iter().find(|service| service.name() == name.trim());
                (Some(service.ok_or_else(|| EndpointError::Service(name.trim().to_owned()))?), url)
            }
            _ => (None, text),
        };
        let base = Some(url.trim().parse()?);
        match service {
            None => self.every = base,
            Some(Service::Queue) => self.queue = base,
            Some(Service::Streaming) => self.streaming = base,
        }
        Ok(())
    }

    /// The address of a path in a service. The path begins with a slash and is encoded already.
    pub(crate) fn uri(&self, service: Service, region: &Region, path_and_query: &str) -> Uri {
        let own = match service {
            Service::Queue => &self.queue,
            Service::Streaming => &self.streaming,
        };
        let base = match own.as_ref().or(self.every.as_ref()) {
            Some(base) => base.0.clone(),
            None => {
                format!("https://{}.{}.oci.{}", service.host_prefix(), region.name(), region.domain())
            }
        };
        format!("{base}/{}{path_and_query}", service.version())
            .parse()
            .expect("a checked base and an encoded path make an address")
    }
}

impl Endpoints {
    /// The address at which the authentication service gives tokens for certificates.
    pub(crate) fn federation(&self, region: &Region) -> Uri {
        let base = match self.auth.as_ref().or(self.every.as_ref()) {
            Some(base) => base.0.clone(),
            None => format!("https://auth.{}.{}", region.name(), region.domain()),
        };
        format!("{base}/v1/x509").parse().expect("a checked base and a path make an address")
    }
}

/// Scheme, host and perhaps a path, without a slash at the end.
#[derive(Clone, Debug)]
struct Base(String);

impl FromStr for Base {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let uri: Uri = text.parse().map_err(|_| EndpointError::Url(text.to_owned()))?;
        let Some(host) = uri.host().filter(|host| !host.is_empty()) else {
            return Err(EndpointError::Url(text.to_owned()));
        };
        if uri.query().is_some() || uri.authority().is_some_and(|authority| authority.as_str().contains('@'))
        {
            return Err(EndpointError::Url(text.to_owned()));
        }
        match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => {}
            Some(scheme) if *scheme == Scheme::HTTP && is_loopback(host) => {}
            Some(scheme) if *scheme == Scheme::HTTP => return Err(EndpointError::Plain(host.to_owned())),
            _ => return Err(EndpointError::Url(text.to_owned())),
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Why an address cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It is no address.
    #[error("`{0}` is not an address like https://host or http://127.0.0.1:8080")]
    Url(String),
    /// Requests would go over the network unprotected.
    #[error("{0} is not this machine, and plain http is for this machine only; use https")]
    Plain(String),
    /// There is no such service.
    #[error("there is no service `{0}`; there is queue, streaming and auth")]
    Service(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(overrides: &[&str], service: Service) -> String {
        let mut endpoints = Endpoints::default();
        for text in overrides {
            endpoints.add(text).unwrap();
        }
        let region = Region::resolve("us-phoenix-1", None).unwrap();
        endpoints.uri(service, &region, "/things?a=b").to_string()
    }

    #[test]
    fn tokens_come_from_the_region_or_from_where_somebody_says() {
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
    fn a_service_is_where_its_region_is_or_where_somebody_says() {
        let check = |overrides: &[&str], queue: &str, streaming: &str| {
            assert_eq!(uri(overrides, Service::Queue), format!("{queue}/20210201/things?a=b"));
            assert_eq!(uri(overrides, Service::Streaming), format!("{streaming}/20180418/things?a=b"));
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
        for text in ["", "example.com", "ftp://x", "https://", "https://x?a=b", "http://evil@127.0.0.1"] {
            check(text, EndpointError::Url(text.to_owned()));
        }
    }
}
