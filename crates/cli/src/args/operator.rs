//! `plimsoll operator`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use manifest::GoDuration;
use operator::{Half, Options};

use super::cluster::duration;

const CLUSTER: &str = "Cluster options";
const OCI: &str = "Oracle Cloud options";
const FUNCTIONS: &str = "Function options";
const RUNNING: &str = "Options for running it";

/// What the operator understands.
#[derive(Args, Debug)]
#[command(
    after_help = "The log goes to standard error: text on a terminal, JSON otherwise; RUST_LOG says how much of it.

Who it is at Oracle Cloud: the Secret `ocicredentials` of an object's namespace, else what AUTH_TYPE
says (instance_principal, oke_workload_identity, resource_principal), else ~/.oci/config, else the
instance it runs on.

Examples:
  plimsoll operator --install-crds
  plimsoll operator --controllers oci --oci-endpoint http://127.0.0.1:8400 --poll-interval 2s
  plimsoll operator --function function-web=127.0.0.1:9443 --function-certs-dir certs/client
  plimsoll operator --leader-elect --metrics-address 0.0.0.0:8080 --health-address 0.0.0.0:8081"
)]
pub(crate) struct Operator {
    /// The kubeconfig; without it what kubectl would use: KUBECONFIG, ~/.kube/config, the pod's service account
    #[arg(long, help_heading = CLUSTER, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig in place of the current one
    #[arg(long, help_heading = CLUSTER, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Look after this namespace only; the lease is in it, too
    #[arg(short, long, help_heading = CLUSTER, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Install the definitions of the kinds first
    #[arg(long, help_heading = CLUSTER)]
    pub(crate) install_crds: bool,
    /// Start although Crossplane or the OCI Service Operator holds its lease
    #[arg(long, help_heading = CLUSTER)]
    pub(crate) take_over: bool,
    /// What to run
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = halves(),
          default_values = Half::ALL.iter().map(|half| half.name()))]
    pub(crate) controllers: Vec<Half>,

    /// Write what is composed for a namespaced XR or a claim as this service account of its namespace
    #[arg(long, value_name = "NAME")]
    pub(crate) default_service_account: Option<String>,

    /// Where a function is, as NAME=ENDPOINT; can be repeated
    #[arg(long = "function", help_heading = FUNCTIONS, value_name = "NAME=ENDPOINT")]
    pub(crate) functions: Vec<NamedEndpoint>,
    /// The folder with the engine's certificates, as `plimsoll certs` makes it
    #[arg(long, help_heading = FUNCTIONS, value_name = "DIR")]
    pub(crate) function_certs_dir: Option<PathBuf>,
    /// How long one call may take
    #[arg(long, help_heading = FUNCTIONS, value_name = "DURATION", value_parser = duration, default_value = "20s")]
    pub(crate) function_timeout: GoDuration,
    /// How many calls of one function may be under way at a time
    #[arg(long, help_heading = FUNCTIONS, value_name = "COUNT", default_value_t = 32,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) function_concurrency: u16,
    /// How large a request or an answer may be, in MiB; a function has a limit of its own
    #[arg(long, help_heading = FUNCTIONS, value_name = "MIB", default_value_t = 8,
          value_parser = clap::value_parser!(u16).range(1..=2047))]
    pub(crate) function_max_message_size: u16,

    /// Let copies take turns by a lease; without this option they do in a cluster, and do not outside one
    #[arg(long, help_heading = RUNNING, value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true")]
    pub(crate) leader_elect: Option<bool>,
    /// How long a copy that says nothing any more keeps others out, 3s at least
    #[arg(long, help_heading = RUNNING, value_name = "DURATION", value_parser = lease_duration, default_value = "30s")]
    pub(crate) lease_duration: GoDuration,
    /// Where /metrics is served, or `off`
    #[arg(long, help_heading = RUNNING, value_name = "ADDRESS", default_value_t = Address(Some(Options::METRICS_ADDRESS)))]
    pub(crate) metrics_address: Address,
    /// Where /livez and /readyz are served, or `off`
    #[arg(long, help_heading = RUNNING, value_name = "ADDRESS", default_value_t = Address(Some(Options::HEALTH_ADDRESS)))]
    pub(crate) health_address: Address,

    /// An address in place of the region's, for one service (queue, streaming, auth) or all; `{region}` in it stands for
    /// the region; can be repeated
    #[arg(long, help_heading = OCI, value_name = "[SERVICE=]URL", env = "PLIMSOLL_OCI_ENDPOINT", value_delimiter = ',')]
    pub(crate) oci_endpoint: Vec<String>,
    /// Never use the operator's own credentials: a namespace needs a Secret `ocicredentials`
    #[arg(long, help_heading = OCI)]
    pub(crate) require_namespace_credentials: bool,
    /// Ignore the annotation plimsoll.dev/adopt: objects never take over existing resources
    #[arg(long, help_heading = OCI)]
    pub(crate) no_adopt: bool,
    /// How many requests a second each region gets at most
    #[arg(long, help_heading = OCI, value_name = "COUNT", default_value_t = 20.0, value_parser = rate)]
    pub(crate) oci_qps: f64,
    /// Between two looks at an operation in flight, unless the cloud says otherwise
    #[arg(long, help_heading = OCI, value_name = "DURATION", value_parser = duration, default_value = "15s")]
    pub(crate) poll_interval: GoDuration,
    /// How long an operation may take before it is called stalled
    #[arg(long, help_heading = OCI, value_name = "DURATION", value_parser = duration, default_value = "1h")]
    pub(crate) operation_deadline: GoDuration,
    /// How long something new may be missing in listings
    #[arg(long, help_heading = OCI, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) create_grace: GoDuration,
    /// The first wait after a failure that does not pass; it doubles, up to twelve times as long
    #[arg(long, help_heading = OCI, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    pub(crate) slow_retry: GoDuration,
    /// Between two looks at a resource that is as it should be
    #[arg(long, help_heading = OCI, value_name = "DURATION", value_parser = duration, default_value = "10m")]
    pub(crate) drift_interval: GoDuration,
}

/// Where something is served; nowhere when it is `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address(pub(crate) Option<SocketAddr>);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self(None));
        }
        let address = text.parse().map_err(|_| "write an address and a port like 127.0.0.1:8080, or off")?;
        Ok(Self(Some(address)))
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("off"),
        }
    }
}

/// Where a function is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedEndpoint {
    pub(crate) name: String,
    pub(crate) endpoint: String,
}

impl FromStr for NamedEndpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, endpoint)) if !name.is_empty() && !endpoint.is_empty() => {
                Ok(Self { name: name.to_owned(), endpoint: endpoint.to_owned() })
            }
            _ => {
                Err("write the name, = and the endpoint, for instance function-web=127.0.0.1:9443".to_owned())
            }
        }
    }
}

pub(super) fn halves() -> impl clap::builder::TypedValueParser<Value = Half> {
    let named = |name: String| Half::ALL.iter().copied().find(|half| half.name() == name);
    PossibleValuesParser::new(Half::ALL.iter().map(|half| half.name()))
        .map(move |name| named(name).expect("clap lets only their names through"))
}

fn lease_duration(text: &str) -> Result<GoDuration, String> {
    match duration(text)? {
        // A Lease has a resolution of seconds, and stopping in time takes three of them.
        short if short < GoDuration::from_nanos(3_000_000_000) => Err("it must be 3s or more".to_owned()),
        duration => Ok(duration),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(rate),
        _ => Err("write a positive number of requests a second, for instance 20 or 0.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_or_is_off() {
        let check = |text: &str, expected: Option<&str>| {
            let shown = text.parse::<Address>().ok().map(|address| address.to_string());
            assert_eq!(shown.as_deref(), expected, "{text}");
        };
        check("127.0.0.1:8080", Some("127.0.0.1:8080"));
        check("[::1]:0", Some("[::1]:0"));
        check("off", Some("off"));
        for wrong in ["8080", ":8080", "localhost:8080", ""] {
            check(wrong, None);
        }
    }

    #[test]
    fn an_endpoint_has_a_name() {
        let parsed = "function-web=dns:///web:9443".parse::<NamedEndpoint>().unwrap();
        assert_eq!((parsed.name.as_str(), parsed.endpoint.as_str()), ("function-web", "dns:///web:9443"));
        for wrong in ["function-web", "=127.0.0.1:1", "function-web="] {
            assert!(wrong.parse::<NamedEndpoint>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn leases_last_and_rates_are_positive() {
        assert!(lease_duration("3s").is_ok() && rate("0.5").is_ok());
        assert!(lease_duration("2s").is_err());
        for wrong in ["0", "-1", "inf", "NaN", "many"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
