//! What a user can configure about reaching a cluster, and whether it is consistent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use diag::Diagnostic;

use crate::Secret;
use crate::codes;

/// How to reach a cluster, as configured; [`Connection::validate`] checks that it is consistent.
///
/// Exactly one of these locates the cluster: `host` (inline), `kubeconfig`, `config_paths`, `in_cluster` or
/// `from_environment`. The remaining fields accompany `host`, or override the kubeconfig, as kubectl's flags of the
/// same names do.
///
/// Two connections are equal when all their fields are, so a connection is its own cache key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Connection {
    /// The URL of the API server.
    pub host: Option<String>,
    /// The CA certificates for the server: PEM, or PEM in base64.
    pub cluster_ca_certificate: Option<Secret>,
    /// The content (not the path) of a kubeconfig.
    pub kubeconfig: Option<Secret>,
    /// Paths of kubeconfig files, merged as kubectl merges them: the first value wins.
    pub config_paths: Vec<PathBuf>,
    /// Use the service account of the pod we run in.
    pub in_cluster: bool,
    /// What kubectl would use: `KUBECONFIG`, `~/.kube/config`, else the pod's service account.
    pub from_environment: bool,
    pub context: Option<String>,
    pub token: Option<Secret>,
    /// A client certificate: PEM, or PEM in base64.
    pub client_certificate: Option<Secret>,
    /// The key of the client certificate: PEM, or PEM in base64.
    pub client_key: Option<Secret>,
    /// Accept any server certificate.
    pub insecure: bool,
    /// A proxy (`http`, `https` or `socks5`); its URL may carry a password.
    pub proxy_url: Option<Secret>,
    /// The name to expect in the server's certificate instead of the host.
    pub tls_server_name: Option<String>,
    pub exec: Option<Exec>,
    pub impersonate: Option<Impersonate>,
}

/// A credential plugin: a program that prints an `ExecCredential`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Exec {
    /// `client.authentication.k8s.io/v1` or `client.authentication.k8s.io/v1beta1`.
    pub api_version: String,
    /// The program, by name or path.
    pub command: String,
    pub args: Vec<Secret>,
    /// Variables set in addition to our own environment.
    pub env: BTreeMap<String, Secret>,
}

/// The identity to act as; the server decides whether we may.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Impersonate {
    pub user: Option<String>,
    pub uid: Option<String>,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Connection {
    /// What kubectl would use, with `context` instead of the current one.
    pub fn from_environment(context: Option<String>) -> Self {
        Self { from_environment: true, context, ..Self::default() }
    }

    pub fn from_kubeconfig(content: impl Into<Secret>, context: Option<String>) -> Self {
        Self { kubeconfig: Some(content.into()), context, ..Self::default() }
    }

    /// Checks that the settings are consistent, without reading files, certificates or the network.
    pub fn validate(&self) -> Result<(), Box<Diagnostic>> {
        // Users' tests match the first words of each text.
        let inline = self.host.is_some() || self.cluster_ca_certificate.is_some();
        let modes: Vec<&str> = [
            (inline, "host or cluster_ca_certificate (inline)"),
            (self.kubeconfig.is_some(), "kubeconfig"),
            (!self.config_paths.is_empty(), "config_paths"),
            (self.in_cluster, "in_cluster"),
            (self.from_environment, "the environment"),
        ]
        .into_iter()
        .filter_map(|(set, name)| set.then_some(name))
        .collect();
        match modes.len() {
            0 => return Err(missing()),
            1 => {}
            _ => {
                return Err(invalid(format!(
                    "multiple connection modes specified: {}.\n\nThey are mutually exclusive; keep exactly one.",
                    modes.join(", ")
                )));
            }
        }
        if self.client_certificate.is_some() != self.client_key.is_some() {
            let (set, missing) = if self.client_key.is_none() {
                ("client_certificate", "client_key")
            } else {
                ("client_key", "client_certificate")
            };
            return Err(invalid(format!(
                "client certificate configuration incomplete: {set} is set and {missing} is not.\n\nSet both or neither."
            )));
        }
        if inline {
            self.validate_inline()?;
        }
        if self.impersonate.as_ref().is_some_and(|whom| whom.user.is_none()) {
            return Err(invalid(
                "impersonate incomplete: user is not set.\n\nThe server rejects groups, uid and extra without a user.",
            ));
        }
        match &self.exec {
            Some(exec) if exec.command.is_empty() || exec.api_version.is_empty() => {
                Err(exec_incomplete(exec))
            }
            _ => Ok(()),
        }
    }

    fn validate_inline(&self) -> Result<(), Box<Diagnostic>> {
        if self.host.is_none() {
            return Err(invalid(
                "inline connection incomplete: host is not set.\n\ncluster_ca_certificate alone does not locate the cluster.",
            ));
        }
        if self.cluster_ca_certificate.is_none() && !self.insecure {
            // Users' tests expect a line that says "connections" before `cluster_ca_certificate`, and Terraform wraps
            // at about 78 columns: keep that line short.
            return Err(invalid(
                "inline connection incomplete: neither cluster_ca_certificate nor insecure is set.\n\n\
                 Secure connections need cluster_ca_certificate.\n\
                 For a development cluster, insecure = true skips the verification of the server's certificate.",
            ));
        }
        if self.token.is_none() && self.client_certificate.is_none() && self.exec.is_none() {
            return Err(invalid(
                "inline connection missing authentication: set token, client_certificate with client_key, or exec.",
            ));
        }
        Ok(())
    }
}

fn missing() -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(codes::CONNECTION_MISSING, "Missing Cluster Connection Configuration")
            .detail("no connection mode specified: no setting locates the cluster.")
            .field("cluster")
            .hint("Set host with cluster_ca_certificate and credentials, or kubeconfig with the content of a kubeconfig file."),
    )
}

fn invalid(detail: impl Into<String>) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(codes::CONNECTION_INVALID, "Invalid Cluster Connection Configuration")
            .detail(detail)
            .field("cluster"),
    )
}

fn exec_incomplete(exec: &Exec) -> Box<Diagnostic> {
    let missing = if exec.command.is_empty() { "command" } else { "api_version" };
    Box::new(
        Diagnostic::error(codes::CONNECTION_EXEC_INVALID, "Invalid Exec Authentication Configuration")
            .detail(format!("exec authentication incomplete: {missing} is not set."))
            .field("cluster.exec")
            .hint(
                "Set api_version (client.authentication.k8s.io/v1) and the command that prints credentials.",
            ),
    )
}

#[cfg(test)]
mod tests;
