//! The environment variables and paths that affect connections, as values, so that tests need not change the process.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The parts of the process's environment that affect a connection.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `KUBECONFIG`: a list of paths.
    pub kubeconfig: Option<OsString>,
    /// The home directory, which may contain `.kube/config`.
    pub home: Option<PathBuf>,
    /// `HTTP_PROXY`, for servers without TLS.
    pub http_proxy: Option<String>,
    /// `HTTPS_PROXY`, for servers with TLS.
    pub https_proxy: Option<String>,
    /// `NO_PROXY`: hosts that bypass the environment's proxies.
    pub no_proxy: Option<String>,
    /// `KUBERNETES_SERVICE_HOST`, set in pods.
    pub service_host: Option<String>,
    /// `KUBERNETES_SERVICE_PORT`, set in pods.
    pub service_port: Option<String>,
    /// The directory of a pod's service account: `token`, `ca.crt` and `namespace`.
    pub service_account: PathBuf,
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Self {
        // As in Go, the upper-case name wins and an empty value counts as unset.
        let variable = |names: [&str; 2]| {
            names.iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty())
        };
        let one = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        Self {
            kubeconfig: std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty()),
            home: std::env::home_dir(),
            http_proxy: variable(["HTTP_PROXY", "http_proxy"]),
            https_proxy: variable(["HTTPS_PROXY", "https_proxy"]),
            no_proxy: variable(["NO_PROXY", "no_proxy"]),
            service_host: one("KUBERNETES_SERVICE_HOST"),
            service_port: one("KUBERNETES_SERVICE_PORT"),
            service_account: PathBuf::from("/var/run/secrets/kubernetes.io/serviceaccount"),
        }
    }

    /// Expands a leading `~/` to the home directory, as a shell does.
    pub(crate) fn expand(&self, path: &Path) -> PathBuf {
        match (&self.home, path.strip_prefix("~")) {
            (Some(home), Ok(rest)) => home.join(rest),
            _ => path.to_owned(),
        }
    }

    /// The kubeconfig files that kubectl would read, in order; they need not exist.
    pub fn kubeconfig_paths(&self) -> Vec<PathBuf> {
        match &self.kubeconfig {
            Some(list) => std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect(),
            None => self.home.iter().map(|home| home.join(Path::new(".kube/config"))).collect(),
        }
    }
}
