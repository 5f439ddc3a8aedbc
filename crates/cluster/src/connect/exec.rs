//! Credential plugins: runs a program that prints credentials.
//!
//! The protocol is `client.authentication.k8s.io/v1` and `/v1beta1`. kube can run plugins too, but it sets no time
//! limit, gives them the terminal, and repeats their output in its errors.

mod error;
mod process;

pub use error::ExecError;

use std::collections::{BTreeMap, HashMap};
use std::io::ErrorKind;
use std::time::Duration;

use jiff::Timestamp;
use kube::config::{Cluster, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use tokio::process::Command;

use super::ConnectError;
use super::pem::Identity;
use crate::{Exec, Secret};
use process::OutputError;

/// How long a plugin may take. Cloud CLIs need seconds; one that waits for input at a terminal waits forever.
const TIMEOUT: Duration = Duration::from_secs(30);
const VERSIONS: [&str; 2] = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

/// A plugin that is ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Plugin {
    version: &'static str,
    command: String,
    args: Vec<Secret>,
    env: BTreeMap<String, Secret>,
    install_hint: Option<String>,
    cluster: Option<serde_json::Value>,
    pub(super) timeout: Duration,
}

/// The credentials that a plugin printed.
#[derive(Clone, Debug)]
pub(crate) struct PluginCredentials {
    pub(crate) token: Option<Secret>,
    pub(crate) identity: Option<Identity>,
    pub(crate) expires: Option<Timestamp>,
}

/// What a plugin receives about the cluster if it sets `provideClusterInfo`: the cluster of a kubeconfig, with `roots`,
/// the PEM of its `certificate-authority`, in place of files, and with the one extension that is meant for plugins.
pub(crate) fn cluster_info(cluster: &Cluster, roots: Option<&str>) -> serde_json::Value {
    use base64::Engine as _;
    let mut extensions = cluster.extensions.iter().flatten();
    let config = extensions.find(|extension| extension.name == "client.authentication.k8s.io/exec");
    let passed = Cluster {
        certificate_authority: None,
        certificate_authority_data: roots.map(|pem| base64::prelude::BASE64_STANDARD.encode(pem)),
        extensions: None,
        other: BTreeMap::new(),
        ..cluster.clone()
    };
    let mut info = serde_json::to_value(passed).expect("plain strings become JSON");
    if let Some(config) = config {
        info["config"] = config.extension.clone();
    }
    info
}

impl Plugin {
    /// The plugin of an inline connection.
    pub(crate) fn inline(exec: &Exec) -> Result<Self, ExecError> {
        Self::new(&exec.api_version, exec.command.clone(), exec.args.clone(), exec.env.clone())
    }

    /// The plugin of a kubeconfig's user.
    pub(crate) fn of_kubeconfig(
        exec: &ExecConfig,
        cluster: Option<serde_json::Value>,
    ) -> Result<Self, ExecError> {
        let command =
            exec.command.clone().filter(|command| !command.is_empty()).ok_or(ExecError::NoCommand)?;
        if exec.interactive_mode == Some(ExecInteractiveMode::Always) {
            return Err(ExecError::Interactive { command });
        }
        let args = exec.args.iter().flatten().map(|arg| Secret::from(arg.as_str())).collect();
        let variable = |entry: &HashMap<String, String>| {
            Some((entry.get("name")?.clone(), Secret::from(entry.get("value")?.as_str())))
        };
        let env = exec.env.iter().flatten().filter_map(variable).collect();
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
        let Some(version) = VERSIONS.into_iter().find(|known| *known == version) else {
            return Err(ExecError::Version { command, version: version.to_owned() });
        };
        Ok(Self { version, command, args, env, install_hint: None, cluster: None, timeout: TIMEOUT })
    }

    /// Runs the plugin to its end, or until it times out.
    pub(crate) async fn run(&self) -> Result<PluginCredentials, ExecError> {
        tracing::debug!("running the credential plugin");
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
        self.parse(&output.stdout).map_err(|problem| ExecError::Invalid { command: command(), problem })
    }

    /// The value of `KUBERNETES_EXEC_INFO`.
    fn request(&self) -> String {
        let mut spec = serde_json::json!({ "interactive": false });
        if let Some(cluster) = &self.cluster {
            spec["cluster"] = cluster.clone();
        }
        serde_json::json!({ "apiVersion": self.version, "kind": "ExecCredential", "spec": spec }).to_string()
    }

    /// Parses the output; an error says what is wrong without quoting it.
    fn parse(&self, stdout: &[u8]) -> Result<PluginCredentials, String> {
        let credential: ExecCredential = serde_json::from_slice(stdout).map_err(|error| {
            format!("not the JSON expected (line {}, column {})", error.line(), error.column())
        })?;
        if credential.kind != "ExecCredential" {
            return Err("its kind is not ExecCredential".to_owned());
        }
        if credential.api_version != self.version {
            return Err(format!("its apiVersion is not {}", self.version));
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
        Ok(PluginCredentials { token, identity, expires })
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ExecCredential {
    api_version: String,
    kind: String,
    status: Option<ExecCredentialStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredentialStatus {
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
