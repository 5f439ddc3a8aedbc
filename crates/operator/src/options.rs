//! How an operator is run: what its flags say, as values, with what holds when they say nothing.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use cluster::{Connection, Environment};
use manifest::Namespace;

/// How an operator is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The cluster.
    pub connection: Connection,
    /// The only namespace to look at, and the one of the lease; without it all namespaces, and that of the connection.
    pub namespace: Option<Namespace>,
    /// What to run.
    pub controllers: Vec<Half>,
    /// Whether to install the definitions of our kinds before anything else.
    pub install_crds: bool,
    /// Whether to run although another engine holds its lease.
    pub take_over: bool,
    /// Whether copies take turns; without a word, in a cluster only.
    pub leader_elect: Option<bool>,
    /// How long a copy that says nothing any more keeps others out.
    pub lease_duration: Duration,
    /// Where Prometheus may ask; nowhere when `None`.
    pub metrics_address: Option<SocketAddr>,
    /// Where probes may ask; nowhere when `None`.
    pub health_address: Option<SocketAddr>,
    /// The intervals of operations at a provider.
    pub operations: operations::Schedule,
    /// How Oracle Cloud is called.
    pub oci: oraclecloud::Settings,
    /// How functions are found and called.
    pub functions: FunctionOptions,
}

/// The halves of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Resources at Oracle Cloud.
    Oci,
    /// XRDs, Compositions and claims.
    Composition,
}

impl Half {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Oci, Self::Composition];

    /// Its name in `--controllers`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Oci => "oci",
            Self::Composition => "composition",
        }
    }
}

/// How functions are found and called.
#[derive(Clone, Debug)]
pub struct FunctionOptions {
    /// Endpoints by name of the function.
    pub endpoints: BTreeMap<String, String>,
    /// A folder with `tls.crt`, `tls.key` and `ca.crt`.
    pub certs_dir: Option<PathBuf>,
    /// How long a call may take.
    pub timeout: Duration,
    /// How many calls of one function may be under way at a time.
    pub concurrency: usize,
    /// How large a request or an answer may be, in bytes.
    pub max_message: usize,
}

impl Default for FunctionOptions {
    fn default() -> Self {
        Self {
            endpoints: BTreeMap::new(),
            certs_dir: None,
            timeout: Duration::from_secs(20),
            concurrency: 32,
            max_message: 64 << 20,
        }
    }
}

impl Options {
    /// How long a lease lasts. A busy API server makes short ones change hands without need.
    pub const LEASE_DURATION: Duration = Duration::from_secs(30);
    /// Where metrics and health are served: for this machine only, since neither asks who wants to know.
    pub const METRICS_ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
    /// Beside the metrics.
    pub const HEALTH_ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8081);

    /// Everything as it is when nothing is said, on this cluster.
    pub fn on(connection: Connection) -> Self {
        Self {
            connection,
            namespace: None,
            controllers: Half::ALL.to_vec(),
            install_crds: false,
            take_over: false,
            leader_elect: None,
            lease_duration: Self::LEASE_DURATION,
            metrics_address: Some(Self::METRICS_ADDRESS),
            health_address: Some(Self::HEALTH_ADDRESS),
            operations: operations::Schedule::default(),
            oci: oraclecloud::Settings::default(),
            functions: FunctionOptions::default(),
        }
    }

    /// Whether copies take turns.
    pub(crate) fn elects(&self, environment: &Environment) -> bool {
        self.leader_elect.unwrap_or_else(|| self.is_in_cluster(environment))
    }

    /// Whether we run in the cluster that we look after.
    fn is_in_cluster(&self, environment: &Environment) -> bool {
        let by_environment = self.connection.from_environment
            && environment.service_host.is_some()
            && !environment.kubeconfig_paths().iter().any(|path| path.exists());
        self.connection.in_cluster || by_environment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_take_turns_in_a_cluster_unless_told_otherwise() {
        let pod = Environment { service_host: Some("10.0.0.1".to_owned()), ..Environment::default() };
        let inside = Connection { in_cluster: true, ..Connection::default() };
        let by_environment = Connection::from_environment(None);
        let by_file = Connection { config_paths: vec!["kubeconfig".into()], ..Connection::default() };
        let check = |connection: &Connection, environment: &Environment, told, expected: bool| {
            let options = Options { leader_elect: told, ..Options::on(connection.clone()) };
            assert_eq!(options.elects(environment), expected, "{connection:?} {told:?}");
        };
        check(&inside, &pod, None, true);
        check(&by_environment, &pod, None, true);
        check(&by_environment, &Environment::default(), None, false);
        check(&by_file, &pod, None, false);
        check(&by_file, &pod, Some(true), true);
        check(&inside, &pod, Some(false), false);
    }

    #[test]
    fn a_kubeconfig_in_a_pod_leads_elsewhere() {
        let file = std::env::current_exe().unwrap();
        let pod = Environment {
            service_host: Some("10.0.0.1".to_owned()),
            kubeconfig: Some(file.into_os_string()),
            ..Environment::default()
        };
        assert!(!Options::on(Connection::from_environment(None)).elects(&pod));
    }
}
