//! Parses where a function is served: `dns:///host:port`, `dns:host:port`, `host:port` or `unix:/path`.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use tokio::net::lookup_host;

/// A name with any number of addresses, or a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a function endpoint: {why}; use host:port, dns:///host:port or unix:/path")]
pub struct InvalidEndpoint {
    text: String,
    why: &'static str,
}

impl FromStr for Endpoint {
    type Err = InvalidEndpoint;

    /// Parses the subset of gRPC's target names that functions use.
    fn from_str(text: &str) -> Result<Self, InvalidEndpoint> {
        let bad = |why| InvalidEndpoint { text: text.to_owned(), why };
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return match path {
                "" => Err(bad("it has no socket path")),
                path => Ok(Self::Unix(path.into())),
            };
        }
        let name = match text.strip_prefix("dns:") {
            None => text,
            Some(name) => match name.strip_prefix("//") {
                None => name,
                // gRPC allows a DNS server between the slashes; which one to ask is this machine's configuration.
                Some(rest) => rest.strip_prefix('/').ok_or_else(|| bad("it names a DNS server"))?,
            },
        };
        let (host, port) = name.rsplit_once(':').ok_or_else(|| bad("it has no port"))?;
        let port = port
            .parse()
            .ok()
            .filter(|port| *port != 0)
            .ok_or_else(|| bad("its port is not a number above 0"))?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = bare.unwrap_or(host);
        let is_name = |host: &str| {
            let allowed = |character: char| character.is_ascii_alphanumeric() || "-._".contains(character);
            !host.is_empty() && host.chars().all(allowed)
        };
        if bare.is_some_and(|host| host.parse::<IpAddr>().is_ok()) || (bare.is_none() && is_name(host)) {
            return Ok(Self::Tcp { host: host.to_owned(), port });
        }
        Err(bad("its host is neither a name nor an IP address"))
    }
}

impl Endpoint {
    pub(crate) async fn resolve(&self) -> io::Result<Vec<Address>> {
        match self {
            Self::Unix(path) => Ok(vec![Address::Unix(path.clone())]),
            Self::Tcp { host, port } => {
                let mut addresses: Vec<_> =
                    lookup_host((host.as_str(), *port)).await?.map(Address::Tcp).collect();
                addresses.sort();
                addresses.dedup();
                Ok(addresses)
            }
        }
    }

    /// The host the server's certificate must be for; none for a Unix socket, which file permissions protect.
    pub(crate) fn host(&self) -> Option<&str> {
        match self {
            Self::Tcp { host, .. } => Some(host),
            Self::Unix(_) => None,
        }
    }

    /// The `:authority` of requests.
    pub(crate) fn authority(&self) -> String {
        match self {
            Self::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
            Self::Tcp { host, port } => format!("{host}:{port}"),
            Self::Unix(_) => "localhost".to_owned(),
        }
    }
}

impl Address {
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { .. } => f.write_str(&self.authority()),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_endpoint_is_parsed() {
        let tcp = |host: &str, port| Ok(Endpoint::Tcp { host: host.to_owned(), port });
        let bad = |text: &str, why| Err(InvalidEndpoint { text: text.to_owned(), why });
        let check = |text: &str, expected: Result<Endpoint, InvalidEndpoint>| {
            assert_eq!(text.parse::<Endpoint>(), expected, "{text}");
        };
        check("dns:///fn.crossplane-system:9443", tcp("fn.crossplane-system", 9443));
        check("dns:fn:9443", tcp("fn", 9443));
        check("localhost:9443", tcp("localhost", 9443));
        check("127.0.0.1:1", tcp("127.0.0.1", 1));
        check("[::1]:9443", tcp("::1", 9443));
        check("dns:///[::1]:9443", tcp("::1", 9443));
        check("unix:/run/fn.sock", Ok(Endpoint::Unix("/run/fn.sock".into())));
        check("unix:///run/fn.sock", Ok(Endpoint::Unix("/run/fn.sock".into())));
        check("unix:fn.sock", Ok(Endpoint::Unix("fn.sock".into())));
        check("unix:", bad("unix:", "it has no socket path"));
        check("fn", bad("fn", "it has no port"));
        check("fn:https", bad("fn:https", "its port is not a number above 0"));
        check("fn:0", bad("fn:0", "its port is not a number above 0"));
        check("::1:9443", bad("::1:9443", "its host is neither a name nor an IP address"));
        check("http://fn:80", bad("http://fn:80", "its host is neither a name nor an IP address"));
        check("dns://8.8.8.8/fn:9443", bad("dns://8.8.8.8/fn:9443", "it names a DNS server"));
    }

    #[tokio::test]
    async fn a_name_resolves_to_its_addresses_and_only_loopback_is_local() {
        let endpoint: Endpoint = "dns:///127.0.0.1:9443".parse().unwrap();
        let addresses = endpoint.resolve().await.unwrap();
        assert_eq!(addresses, [Address::Tcp(([127, 0, 0, 1], 9443).into())]);
        assert!(addresses[0].is_local());
        assert!(!Address::Tcp(([10, 0, 0, 1], 9443).into()).is_local());
        assert!(Address::Unix("/run/fn.sock".into()).is_local());
    }
}
