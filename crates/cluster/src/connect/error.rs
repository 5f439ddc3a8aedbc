//! Why no client could be built from a connection.

use std::path::PathBuf;

use diag::{Diagnostic, error_chain};

use super::ExecError;
use crate::codes;

/// Why no client could be built. No variant carries a secret, nor text that could contain one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The settings contradict each other; see [`Connection::validate`](crate::Connection::validate).
    #[error("{}", .0.detail)]
    Settings(Box<Diagnostic>),
    #[error("kubeconfig is empty")]
    KubeconfigEmpty,
    /// The kubeconfig is a path instead of content.
    #[error(
        "kubeconfig must be the content of a kubeconfig, but this looks like a path: read the file with file(\"…\")"
    )]
    KubeconfigIsPath,
    /// The kubeconfig is not YAML. Its text is not quoted because it contains credentials.
    #[error("{from} is not valid YAML{}", place.map_or(String::new(), |(line, column)| format!(" (line {line}, column {column})")))]
    KubeconfigSyntax {
        /// The file, or `kubeconfig`.
        from: String,
        /// Line and column, from 1.
        place: Option<(u64, u64)>,
    },
    #[error("kubeconfig is not a kubeconfig: it has neither apiVersion nor clusters")]
    NotAKubeconfig,
    #[error("the kubeconfig files cannot be merged: their kind or apiVersion differ")]
    Unmergeable,
    #[error("cannot read {what} {}", path.display())]
    ReadFile {
        /// What the file is for.
        what: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("no cluster is configured: {}, and this process does not run in a pod", nowhere(looked_at))]
    NothingConfigured {
        /// The files that were tried.
        looked_at: Vec<PathBuf>,
    },
    /// `in_cluster` is set outside a pod.
    #[error(
        "in_cluster is set, but this process does not run in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
    )]
    NotInCluster,
    #[error("no contexts found in kubeconfig")]
    NoContexts,
    #[error("context {name:?} not found in kubeconfig; it has {}", .available.join(", "))]
    ContextNotFound { name: String, available: Vec<String> },
    #[error("kubeconfig has several contexts and context is not set; choose one of {}", .available.join(", "))]
    ContextNotChosen { available: Vec<String> },
    /// A context refers to a cluster or user that does not exist.
    #[error("{what} {name:?} was not found for context {context:?}")]
    DanglingContext {
        /// `cluster` or `user`.
        what: &'static str,
        name: String,
        context: String,
    },
    #[error("cluster {0:?} of the kubeconfig has no server")]
    NoServer(String),
    #[error("{what} is not a URL such as {example}")]
    InvalidUrl {
        /// The setting.
        what: &'static str,
        example: &'static str,
    },
    #[error("{what} has an invalid port: it must be a number up to 65535")]
    InvalidPort {
        /// The setting.
        what: &'static str,
    },
    #[error("proxies of scheme {0:?} are not supported: use http, https or socks5")]
    ProxyScheme(String),
    /// A certificate or key is neither PEM nor base64-encoded PEM, or contains something else.
    #[error("{what} {problem}")]
    Pem {
        /// The setting.
        what: String,
        problem: &'static str,
    },
    #[error("{0} contains characters that HTTP headers do not allow")]
    Header(&'static str),
    /// An in-tree authentication provider that Kubernetes has removed.
    #[error("auth-provider {0:?} is no longer supported: use an exec credential plugin")]
    AuthProvider(String),
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// The certificate and key do not form a TLS configuration.
    #[error("the certificates cannot be used")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl ConnectError {
    /// The error as a diagnostic; the title is the Go provider's.
    pub fn diagnostic(&self) -> Diagnostic {
        if let Self::Settings(diagnostic) = self {
            return (**diagnostic).clone();
        }
        Diagnostic::error(codes::CONNECTION_INVALID, "Invalid Connection Configuration")
            .detail(error_chain(self))
            .field("cluster")
    }
}

fn nowhere(looked_at: &[PathBuf]) -> String {
    match looked_at {
        [] => "there is no home directory to look for .kube/config in".to_owned(),
        [only] => format!("{} does not exist", only.display()),
        several => {
            let paths: Vec<String> = several.iter().map(|path| path.display().to_string()).collect();
            format!("none of {} exists", paths.join(", "))
        }
    }
}
