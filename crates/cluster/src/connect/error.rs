//! Why no client could be made from a connection.

use std::path::PathBuf;

use diag::{Diagnostic, error_chain};

use super::ExecError;
use crate::codes;

/// Why no client could be made. No variant carries a secret, nor text that could contain one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The settings do not belong together; see [`Connection::validate`](crate::Connection::validate).
    #[error("{}", .0.detail)]
    Settings(Box<Diagnostic>),
    /// The kubeconfig is an empty text.
    #[error("kubeconfig is empty")]
    KubeconfigEmpty,
    /// The kubeconfig is a path where its content is expected.
    #[error(
        "kubeconfig must be the content of a kubeconfig, and this looks like a path: use file(\"…\") to read the file"
    )]
    KubeconfigIsPath,
    /// The kubeconfig is not YAML. Its text is not quoted, as it holds credentials.
    #[error("{from} is not valid YAML{}", place.map_or(String::new(), |(line, column)| format!(" (line {line}, column {column})")))]
    KubeconfigSyntax {
        /// The file, or `kubeconfig`.
        from: String,
        /// Line and column, from 1.
        place: Option<(u64, u64)>,
    },
    /// The YAML is something else than a kubeconfig.
    #[error("{from} is not a kubeconfig: it has neither apiVersion nor clusters")]
    NotAKubeconfig {
        /// The file, or `kubeconfig`.
        from: String,
    },
    /// Two files to be merged contradict each other in kind or version.
    #[error("the kubeconfig files cannot be merged: their kind or apiVersion differ")]
    Unmergeable,
    /// A file cannot be read.
    #[error("cannot read {what} {}", path.display())]
    ReadFile {
        /// What the file is for.
        what: &'static str,
        /// Where it is.
        path: PathBuf,
        /// Why it cannot be read.
        source: std::io::Error,
    },
    /// The environment names no cluster.
    #[error("no cluster is configured: {}, and this is no pod of a cluster", nowhere(looked_at))]
    NothingConfigured {
        /// The files that were looked for.
        looked_at: Vec<PathBuf>,
    },
    /// `in_cluster` is set outside a pod.
    #[error(
        "in_cluster is set, but this is no pod of a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
    )]
    NotInCluster,
    /// The kubeconfig has no contexts.
    #[error("no contexts found in kubeconfig")]
    NoContexts,
    /// The kubeconfig lacks the context asked for.
    #[error("context {name:?} not found in kubeconfig; it has {}", .available.join(", "))]
    ContextNotFound {
        /// The context asked for.
        name: String,
        /// Those there are.
        available: Vec<String>,
    },
    /// Several contexts, and none chosen.
    #[error("kubeconfig has several contexts and context is not set; choose one of {}", .available.join(", "))]
    ContextNotChosen {
        /// Those there are.
        available: Vec<String>,
    },
    /// A context names something that is not there.
    #[error("{what} {name:?} was not found for context {context:?}")]
    DanglingContext {
        /// `cluster` or `user`.
        what: &'static str,
        /// Its name.
        name: String,
        /// The context.
        context: String,
    },
    /// The cluster has no address.
    #[error("cluster {0:?} of the kubeconfig has no server")]
    NoServer(String),
    /// An address is not a URL with scheme and host.
    #[error("{what} is not a URL such as {example}")]
    InvalidUrl {
        /// The setting.
        what: &'static str,
        /// What it should look like.
        example: &'static str,
    },
    /// A port that no server can have.
    #[error("{what} has an invalid port: it must be a number up to 65535")]
    InvalidPort {
        /// The setting.
        what: &'static str,
    },
    /// A proxy we cannot speak to.
    #[error("proxies of scheme {0:?} are not supported: use http, https or socks5")]
    ProxyScheme(String),
    /// A certificate or key is neither PEM nor base64 of PEM, or is not what it should be.
    #[error("{what} {problem}")]
    Pem {
        /// The setting.
        what: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A name, a group or a token that no header can carry.
    #[error("{0} has characters that no HTTP header can carry")]
    Header(&'static str),
    /// An in-tree authentication provider, which Kubernetes has removed.
    #[error("auth-provider {0:?} is not supported any more: use an exec credential plugin")]
    AuthProvider(String),
    /// The credential plugin is not usable as configured.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// Certificate and key do not make a TLS configuration.
    #[error("the certificates cannot be used")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl ConnectError {
    /// The same for people; the title is the reference's.
    pub fn diagnostic(&self) -> Diagnostic {
        if let Self::Settings(diagnostic) = self {
            return (**diagnostic).clone();
        }
        Diagnostic::error(codes::CONNECTION_INVALID, "Invalid Connection Configuration")
            .detail(error_chain(self))
            .field("cluster")
    }
}

/// Where no kubeconfig was found.
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
