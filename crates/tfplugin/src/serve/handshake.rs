//! The terms on which Terraform starts a plugin, all of them in the environment, and the line that answers them.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// go-plugin's own version, and the version of Terraform's protocol that this crate speaks.
const CORE_PROTOCOL: u32 = 1;
pub(super) const PROTOCOL: u32 = 6;

/// What Terraform sets to say that it is Terraform.
const COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");

/// What Terraform asks of the plugin it starts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// The certificate it will show, in PEM; none for a connection without TLS.
    pub(super) client_certificate: Option<String>,
    /// Where to put the socket; the system's temporary folder if it does not matter.
    pub(super) socket_dir: Option<PathBuf>,
    /// Ports to use where there are no sockets in the file system.
    pub(super) ports: RangeInclusive<u16>,
    /// It wants to know whether brokered connections share this one.
    pub(super) asks_for_multiplexing: bool,
}

/// Why there is nothing to serve.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error(
        "This program is a Terraform provider: Terraform starts it when a configuration needs it.\n\
         To try it by hand, start it with -debug and follow what it prints."
    )]
    NotTerraform,
    #[error(
        "This provider speaks plugin protocol 6, but Terraform offers only {0}.\n\
         Terraform 1.0 and later and every OpenTofu understand protocol 6."
    )]
    OtherProtocol(String),
}

impl Terms {
    /// Reads the terms from the environment.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Refusal> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if set(COOKIE.0).as_deref() != Some(COOKIE.1) {
            return Err(Refusal::NotTerraform);
        }
        // A client from before the list was sent is left to find out by itself.
        if let Some(offered) = set("PLUGIN_PROTOCOL_VERSIONS")
            && !offered.split(',').any(|version| version.trim().parse() == Ok(PROTOCOL))
        {
            return Err(Refusal::OtherProtocol(offered));
        }
        let port = |name, default| set(name).and_then(|port| port.parse().ok()).unwrap_or(default);
        Ok(Self {
            client_certificate: set("PLUGIN_CLIENT_CERT"),
            socket_dir: set("PLUGIN_UNIX_SOCKET_DIR").map(PathBuf::from),
            ports: port("PLUGIN_MIN_PORT", 0)..=port("PLUGIN_MAX_PORT", 0),
            asks_for_multiplexing: set("PLUGIN_MULTIPLEX_GRPC").is_some(),
        })
    }

    /// The line that tells Terraform where the plugin listens.
    pub(super) fn answer(&self, address: &Address, certificate: Option<&[u8]>) -> String {
        let certificate = certificate.map(|der| STANDARD_NO_PAD.encode(der)).unwrap_or_default();
        let (network, address) = (address.network(), address.text());
        // Older clients take a seventh field for a part of the sixth, so only those that ask get one.
        let multiplexing = if self.asks_for_multiplexing { "|false" } else { "" };
        format!("{CORE_PROTOCOL}|{PROTOCOL}|{network}|{address}|grpc|{certificate}{multiplexing}\n")
    }
}

/// Where the plugin listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// At a socket in the file system.
    #[cfg_attr(not(unix), expect(dead_code, reason = "no such sockets"))]
    Unix(PathBuf),
    /// At a port of the loopback interface.
    Tcp(SocketAddr),
}

impl Address {
    pub(super) fn network(&self) -> &'static str {
        match self {
            Self::Unix(_) => "unix",
            Self::Tcp(_) => "tcp",
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Unix(path) => path.display().to_string(),
            Self::Tcp(address) => address.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Terms, Refusal> {
        Terms::read(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn only_terraform_with_a_protocol_we_speak_is_served() {
        assert_eq!(read(&[]), Err(Refusal::NotTerraform));
        assert_eq!(read(&[(COOKIE.0, "other")]), Err(Refusal::NotTerraform));
        let versions = |versions: &str| read(&[COOKIE, ("PLUGIN_PROTOCOL_VERSIONS", versions)]);
        assert_eq!(versions("4,5"), Err(Refusal::OtherProtocol("4,5".to_owned())));
        for accepted in ["5,6", "6", "7, 6", ""] {
            assert!(versions(accepted).is_ok(), "{accepted}");
        }
    }

    #[test]
    fn terms_come_from_the_environment() {
        let terms = read(&[
            COOKIE,
            ("PLUGIN_CLIENT_CERT", "PEM"),
            ("PLUGIN_UNIX_SOCKET_DIR", "/run/x"),
            ("PLUGIN_MIN_PORT", "10000"),
            ("PLUGIN_MAX_PORT", "25000"),
            ("PLUGIN_MULTIPLEX_GRPC", "true"),
        ]);
        assert_eq!(
            terms,
            Ok(Terms {
                client_certificate: Some("PEM".to_owned()),
                socket_dir: Some("/run/x".into()),
                ports: 10000..=25000,
                asks_for_multiplexing: true,
            })
        );
    }

    #[test]
    fn the_line_has_a_seventh_field_only_for_those_who_ask() {
        let mut terms = read(&[COOKIE]).unwrap();
        let address = Address::Unix("/tmp/p/plugin.sock".into());
        assert_eq!(terms.answer(&address, None), "1|6|unix|/tmp/p/plugin.sock|grpc|\n");
        assert_eq!(terms.answer(&address, Some(&[1, 2, 3, 4])), "1|6|unix|/tmp/p/plugin.sock|grpc|AQIDBA\n");
        terms.asks_for_multiplexing = true;
        let address = Address::Tcp(([127, 0, 0, 1], 10000).into());
        assert_eq!(terms.answer(&address, None), "1|6|tcp|127.0.0.1:10000|grpc||false\n");
    }
}
