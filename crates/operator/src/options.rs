//! The settings of an operator, with their defaults.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use cluster::{Connection, Environment};
use manifest::Namespace;

use crate::runtime::shard::Shard;

#[derive(Clone, Debug)]
pub struct Options {
    pub connection: Connection,
    /// The only namespace to watch for cloud resources, and the namespace of the lease. `None`: all namespaces, and the
    /// lease in that of the connection.
    pub namespace: Option<Namespace>,
    pub controllers: Vec<Half>,
    /// Which objects to reconcile; the others are left to operators with other selectors.
    pub shard: Shard,
    /// The name of the lease. `None`: a name that follows from the shard.
    pub lease_name: Option<String>,
    /// Whether to install the custom resource definitions first.
    pub install_crds: bool,
    /// Whether to run even if another engine holds its lease.
    pub take_over: bool,
    /// Whether copies elect a leader. `None`: only in a cluster.
    pub leader_elect: Option<bool>,
    /// How long a copy that no longer renews the lease keeps others waiting.
    pub lease_duration: Duration,
    pub metrics_address: Option<SocketAddr>,
    pub health_address: Option<SocketAddr>,
    pub operations: operations::Schedule,
    pub oci: oraclecloud::Settings,
    /// Descriptions of kinds beside those of the program, which take precedence.
    pub kinds: oraclecloud::Catalogue,
    pub tenants: TenantOptions,
    pub functions: FunctionOptions,
    /// The ServiceAccount, in the namespace of an XR or claim, that its composed resources are written as. `None`: the
    /// operator's own account.
    pub default_service_account: Option<String>,
}

/// What namespaces may do at the cloud.
#[derive(Clone, Copy, Debug, Default)]
pub struct TenantOptions {
    /// Resources are reached with the credentials of their namespace only.
    pub require_credentials: bool,
    /// Existing resources are not adopted.
    pub no_adoption: bool,
}

/// The halves of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Cloud resources at Oracle Cloud.
    Oci,
    /// XRDs, Compositions and claims.
    Composition,
}

impl Half {
    pub const ALL: &[Self] = &[Self::Oci, Self::Composition];

    /// Its name in `--controllers`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Oci => "oci",
            Self::Composition => "composition",
        }
    }
}

/// How composition functions are found and called.
#[derive(Clone, Debug)]
pub struct FunctionOptions {
    /// Endpoints by name of the function; they take precedence over what objects say.
    pub endpoints: BTreeMap<String, String>,
    /// Where to connect instead of the addresses of a function's Service, by `host:port`: for an operator outside the
    /// cluster, which cannot resolve the names of Services.
    pub addresses: BTreeMap<String, SocketAddr>,
    /// A folder with `tls.crt`, `tls.key` and `ca.crt`. `None`: the Secret `plimsoll-tls-client` in the operator's
    /// namespace.
    pub certs_dir: Option<PathBuf>,
    /// The timeout of one call.
    pub timeout: Duration,
    /// The limit of concurrent calls to one function.
    pub concurrency: usize,
    /// How long a call may wait until there are fewer.
    pub max_wait: Duration,
    /// The limit of a request or a response, in bytes.
    pub max_message: usize,
    /// The limit of the memory that the requests and responses of all functions take together, in bytes.
    pub max_memory: usize,
}

impl Default for FunctionOptions {
    fn default() -> Self {
        Self {
            endpoints: BTreeMap::new(),
            addresses: BTreeMap::new(),
            certs_dir: None,
            timeout: Duration::from_secs(20),
            concurrency: 32,
            max_wait: Duration::from_secs(60),
            max_message: 8 << 20,
            max_memory: 128 << 20,
        }
    }
}

impl Options {
    /// Long enough that a busy API server does not make the lease change hands.
    pub const LEASE_DURATION: Duration = Duration::from_secs(30);
    /// On this machine only: neither metrics nor health authenticate their callers.
    pub const METRICS_ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
    pub const HEALTH_ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8081);

    /// The defaults, for this cluster.
    pub fn on(connection: Connection) -> Self {
        Self {
            connection,
            namespace: None,
            controllers: Half::ALL.to_vec(),
            shard: Shard::default(),
            lease_name: None,
            install_crds: false,
            take_over: false,
            leader_elect: None,
            lease_duration: Self::LEASE_DURATION,
            metrics_address: Some(Self::METRICS_ADDRESS),
            health_address: Some(Self::HEALTH_ADDRESS),
            operations: operations::Schedule::default(),
            oci: oraclecloud::Settings::default(),
            kinds: oraclecloud::Catalogue::default(),
            tenants: TenantOptions::default(),
            functions: FunctionOptions::default(),
            default_service_account: None,
        }
    }

    pub(crate) fn elects(&self, environment: &Environment) -> bool {
        self.leader_elect.unwrap_or_else(|| self.is_in_cluster(environment))
    }

    /// Whether the operator runs in the cluster that it serves.
    fn is_in_cluster(&self, environment: &Environment) -> bool {
        let by_environment = self.connection.from_environment
            && environment.service_host.is_some()
            && !environment.kubeconfig_paths().iter().any(|path| path.exists());
        self.connection.in_cluster || by_environment
    }
}

#[cfg(test)]
mod tests;
