//! go-plugin's handshake: the environment in which Terraform starts a plugin, and the line that the plugin prints.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The versions of go-plugin's own protocol and of Terraform's.
const CORE_PROTOCOL: u32 = 1;
pub(super) const PROTOCOL: u32 = 6;

/// Set by Terraform, so that a plugin can tell that it was not started by a person.
const COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");

#[derive(Debug, PartialEq, Eq)]
pub(super) struct PluginEnvironment {
    /// The client's certificate in PEM; without it the connection has no TLS.
    pub(super) client_certificate: Option<String>,
    /// The folder for the socket; by default the system's temporary folder.
    pub(super) socket_dir: Option<PathBuf>,
    /// Used where there are no Unix sockets.
    pub(super) ports: RangeInclusive<u16>,
    /// The client expects the field that says whether brokered connections share this one.
    pub(super) expects_multiplexing: bool,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HandshakeError {
    #[error(
        "This program is a Terraform provider: Terraform starts it when a configuration needs it.\n\
         To try it by hand, start it with -debug and follow the instructions."
    )]
    NotTerraform,
    #[error(
        "This provider speaks plugin protocol 6, but Terraform offers only {0}.\n\
         Terraform 1.0 and later and every OpenTofu understand protocol 6."
    )]
    OtherProtocol(String),
}

impl PluginEnvironment {
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, HandshakeError> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if set(COOKIE.0).as_deref() != Some(COOKIE.1) {
            return Err(HandshakeError::NotTerraform);
        }
        // Older clients do not send the list and notice a mismatch themselves.
        if let Some(offered) = set("PLUGIN_PROTOCOL_VERSIONS")
            && !offered.split(',').any(|version| version.trim().parse() == Ok(PROTOCOL))
        {
            return Err(HandshakeError::OtherProtocol(offered));
        }
        let port = |name, default| set(name).and_then(|port| port.parse().ok()).unwrap_or(default);
        Ok(Self {
            client_certificate: set("PLUGIN_CLIENT_CERT"),
            socket_dir: set("PLUGIN_UNIX_SOCKET_DIR").map(PathBuf::from),
            ports: port("PLUGIN_MIN_PORT", 0)..=port("PLUGIN_MAX_PORT", 0),
            expects_multiplexing: set("PLUGIN_MULTIPLEX_GRPC").is_some(),
        })
    }

    /// The line that tells Terraform where the plugin listens.
    pub(super) fn handshake_line(&self, address: &Address, certificate: Option<&[u8]>) -> String {
        let certificate = certificate.map(|der| STANDARD_NO_PAD.encode(der)).unwrap_or_default();
        let Address { network, address } = address;
        // Older clients read a seventh field as part of the sixth, so only those that expect it get one.
        let multiplexing = if self.expects_multiplexing { "|false" } else { "" };
        format!("{CORE_PROTOCOL}|{PROTOCOL}|{network}|{address}|grpc|{certificate}{multiplexing}\n")
    }
}

/// Where the plugin listens, in Go's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// `unix` or `tcp`.
    pub(super) network: &'static str,
    pub(super) address: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<PluginEnvironment, HandshakeError> {
        PluginEnvironment::read(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn only_terraform_with_protocol_6_is_served() {
        assert_eq!(read(&[]), Err(HandshakeError::NotTerraform));
        assert_eq!(read(&[(COOKIE.0, "other")]), Err(HandshakeError::NotTerraform));
        let versions = |versions: &str| read(&[COOKIE, ("PLUGIN_PROTOCOL_VERSIONS", versions)]);
        assert_eq!(versions("4,5"), Err(HandshakeError::OtherProtocol("4,5".to_owned())));
        for accepted in ["5,6", "6", "7, 6", ""] {
            assert!(versions(accepted).is_ok(), "{accepted}");
        }
    }

    #[test]
    fn the_environment_is_read() {
        let environment = read(&[
            COOKIE,
            ("PLUGIN_CLIENT_CERT", "PEM"),
            ("PLUGIN_UNIX_SOCKET_DIR", "/run/x"),
            ("PLUGIN_MIN_PORT", "10000"),
            ("PLUGIN_MAX_PORT", "25000"),
            ("PLUGIN_MULTIPLEX_GRPC", "true"),
        ]);
        assert_eq!(
            environment,
            Ok(PluginEnvironment {
                client_certificate: Some("PEM".to_owned()),
                socket_dir: Some("/run/x".into()),
                ports: 10000..=25000,
                expects_multiplexing: true,
            })
        );
    }

    #[test]
    fn the_line_has_a_seventh_field_only_for_clients_that_expect_it() {
        let mut environment = read(&[COOKIE]).unwrap();
        let address = Address { network: "unix", address: "/tmp/p/plugin.sock".to_owned() };
        assert_eq!(environment.handshake_line(&address, None), "1|6|unix|/tmp/p/plugin.sock|grpc|\n");
        assert_eq!(
            environment.handshake_line(&address, Some(&[1, 2, 3, 4])),
            "1|6|unix|/tmp/p/plugin.sock|grpc|AQIDBA\n"
        );
        environment.expects_multiplexing = true;
        let address = Address { network: "tcp", address: "127.0.0.1:10000".to_owned() };
        assert_eq!(environment.handshake_line(&address, None), "1|6|tcp|127.0.0.1:10000|grpc||false\n");
    }
}
