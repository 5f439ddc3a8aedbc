//! Credential plugins: runs a program that prints credentials.
//!
//! The protocol is `client.authentication.k8s.io/v1` and `/v1beta1`. kube can run plugins too, but it sets no time
//! limit, gives them the terminal, and repeats their output in its errors.

mod error;
mod process;

pub use error::ExecError;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::time::Duration;

use jiff::Timestamp;
use kube::config::{Cluster, ExecConfig, ExecInteractiveMode};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::ConnectError;
use super::pem::Identity;
use crate::{Exec, Secret};
use process::OutputError;

/// How long a plugin may take. Cloud CLIs need seconds; one that waits for input at a terminal waits forever.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A plugin that is ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Plugin {
    version: Version,
    command: String,
    args: Vec<Secret>,
    env: BTreeMap<String, Secret>,
    install_hint: Option<String>,
    cluster: Option<ClusterInfo>,
    pub(super) timeout: Duration,
}

/// What a plugin has printed.
#[derive(Clone, Debug)]
pub(crate) struct Printed {
    pub(crate) token: Option<Secret>,
    pub(crate) identity: Option<Identity>,
    pub(crate) expires: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V1Beta1,
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        [Self::V1, Self::V1Beta1].into_iter().find(|version| version.text() == text)
    }

    const fn text(self) -> &'static str {
        match self {
            Self::V1 => "client.authentication.k8s.io/v1",
            Self::V1Beta1 => "client.authentication.k8s.io/v1beta1",
        }
    }
}

/// What a plugin receives about the cluster if it sets `provideClusterInfo`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ClusterInfo {
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_server_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    insecure_skip_tls_verify: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_authority_data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disable_compression: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<serde_json::Value>,
}

impl ClusterInfo {
    /// The cluster of a kubeconfig; `roots` is the PEM of its `certificate-authority`.
    pub(crate) fn new(cluster: &Cluster, roots: Option<&str>) -> Self {
        use base64::Engine as _;
        // The one extension that is meant for plugins.
        let config = cluster.extensions.iter().flatten();
        let config = config.clone().find(|extension| extension.name == "client.authentication.k8s.io/exec");
        Self {
            server: cluster.server.clone(),
            tls_server_name: cluster.tls_server_name.clone(),
            insecure_skip_tls_verify: cluster.insecure_skip_tls_verify,
            certificate_authority_data: roots.map(|pem| base64::prelude::BASE64_STANDARD.encode(pem)),
            proxy_url: cluster.proxy_url.clone(),
            disable_compression: cluster.disable_compression,
            config: config.map(|extension| extension.extension.clone()),
        }
    }
}

impl Plugin {
    /// The plugin of an inline connection.
    pub(crate) fn inline(exec: &Exec) -> Result<Self, ExecError> {
        Self::new(&exec.api_version, exec.command.clone(), exec.args.clone(), exec.env.clone())
    }

    /// The plugin of a kubeconfig's user.
    pub(crate) fn of_kubeconfig(exec: &ExecConfig, cluster: Option<ClusterInfo>) -> Result<Self, ExecError> {
        let command =
            exec.command.clone().filter(|command| !command.is_empty()).ok_or(ExecError::NoCommand)?;
        if exec.interactive_mode == Some(ExecInteractiveMode::Always) {
            return Err(ExecError::Interactive { command });
        }
        let args = exec.args.iter().flatten().map(|arg| Secret::from(arg.as_str())).collect();
        let env = exec
            .env
            .iter()
            .flatten()
            .filter_map(|entry| {
                Some((entry.get("name")?.clone(), Secret::from(entry.get("value")?.as_str())))
            })
            .collect();
        let version = exec.api_version.as_deref().unwrap_or_default();
        let plugin = Self::new(version, command, args, env)?;
        Ok(Self { cluster, install_hint: exec.install_hint.clone(), ..plugin })
    }

    fn new(
        version: &str,
        command: String,
        args: Vec<Secret>,
        env: BTreeMap<String, Secret>,
    ) -> Result<Self, ExecError> {
        let Some(version) = Version::parse(version) else {
            return Err(ExecError::Version { command, version: version.to_owned() });
        };
        Ok(Self { version, command, args, env, install_hint: None, cluster: None, timeout: TIMEOUT })
    }

    /// Runs the plugin to its end, or until it times out.
    pub(crate) async fn run(&self) -> Result<Printed, ExecError> {
        let command = || self.command.clone();
        let mut program = Command::new(&self.command);
        program
            .args(self.args.iter().map(Secret::expose))
            .envs(self.env.iter().map(|(name, value)| (name, value.expose())))
            .env("KUBERNETES_EXEC_INFO", self.request());
        let running = process::start(&mut program).map_err(|source| match source.kind() {
            ErrorKind::NotFound => {
                ExecError::NotFound { command: command(), hint: self.install_hint.clone() }
            }
            _ => ExecError::Start { command: command(), source },
        })?;
        let output = match tokio::time::timeout(self.timeout, running.finish()).await {
            Err(_) => return Err(ExecError::TimedOut { command: command(), after: self.timeout }),
            Ok(Err(OutputError::Io(source))) => return Err(ExecError::Start { command: command(), source }),
            Ok(Err(OutputError::TooMuch)) => return Err(ExecError::TooMuch { command: command() }),
            Ok(Ok(output)) => output,
        };
        let stderr = last_lines(&String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            return Err(ExecError::Failed { command: command(), status: output.status.to_string(), stderr });
        }
        if output.stdout.trim_ascii().is_empty() {
            return Err(ExecError::Nothing { command: command(), stderr });
        }
        self.read(&output.stdout).map_err(|problem| ExecError::Answer { command: command(), problem })
    }

    /// The value of `KUBERNETES_EXEC_INFO`.
    fn request(&self) -> String {
        let mut spec = serde_json::json!({ "interactive": false });
        if let Some(cluster) = &self.cluster {
            spec["cluster"] = serde_json::to_value(cluster).expect("plain strings and JSON become JSON");
        }
        serde_json::json!({ "apiVersion": self.version.text(), "kind": "ExecCredential", "spec": spec })
            .to_string()
    }

    /// Parses the output; an error says what is wrong without quoting it.
    fn read(&self, answer: &[u8]) -> Result<Printed, String> {
        let credential: Credential = serde_json::from_slice(answer).map_err(|error| {
            format!("not the JSON expected (line {}, column {})", error.line(), error.column())
        })?;
        if credential.kind != "ExecCredential" {
            return Err("its kind is not ExecCredential".to_owned());
        }
        if credential.api_version != self.version.text() {
            return Err(format!("its apiVersion is not {}", self.version.text()));
        }
        let status = credential.status.ok_or("it has no status")?;
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty()).map(Secret::from);
        let token = filled(status.token);
        let identity = match (filled(status.client_certificate_data), filled(status.client_key_data)) {
            (None, None) => None,
            (Some(certificate), Some(key)) => {
                let names = ["clientCertificateData", "clientKeyData"];
                let identity = Identity::new(certificate, key, names);
                Some(identity.map_err(|error: ConnectError| error.to_string())?)
            }
            _ => return Err("it has only one of clientCertificateData and clientKeyData".to_owned()),
        };
        if token.is_none() && identity.is_none() {
            return Err("it has neither a token nor a certificate with its key".to_owned());
        }
        let expires = status
            .expiration_timestamp
            .map(|time| time.parse().map_err(|_| "its expirationTimestamp is not an RFC 3339 time"))
            .transpose()?;
        Ok(Printed { token, identity, expires })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Credential {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    status: Option<CredentialStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CredentialStatus {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    expiration_timestamp: Option<String>,
}

/// The last few lines of standard error.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}

#[cfg(test)]
mod tests;
