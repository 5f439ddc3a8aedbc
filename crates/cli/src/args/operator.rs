//! `plimsoll operator`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use operator::{Half, Options, Shard};

use super::cluster::{CLUSTER, KubeconfigArgs};
use super::values::{duration, endpoint, pair};

const OCI: &str = "Oracle Cloud options";
const FUNCTIONS: &str = "Function options";
const RUNNING: &str = "Runtime options";

#[derive(Args, Debug)]
#[command(
    after_help = "Logs go to standard error: text on a terminal, JSON otherwise. RUST_LOG sets the level.

Credentials for Oracle Cloud come from the first of these that exists:
  1. the Secret `ocicredentials` in the object's namespace
  2. AUTH_TYPE: instance_principal, oke_workload_identity or resource_principal
  3. ~/.oci/config
  4. the instance the operator runs on

Exit status: 0 stopped, 1 error

Examples:
  plimsoll operator --install-crds
  plimsoll operator --controllers oci --oci-endpoint http://127.0.0.1:8400 --poll-interval 2s
  plimsoll operator --function function-web=127.0.0.1:9443 --function-certs-dir certs/client
  plimsoll operator --watch-label-selector plimsoll.dev/shard=one
  plimsoll operator --leader-elect --metrics-address 0.0.0.0:8080 --health-address 0.0.0.0:8081"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Operator {
    #[command(flatten)]
    pub(crate) kubeconfig: KubeconfigArgs,
    /// Watch only this namespace; it also holds the lease
    #[arg(short, long, help_heading = CLUSTER, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Install the CRDs first
    #[arg(long, help_heading = CLUSTER)]
    pub(crate) install_crds: bool,
    /// Start even if Crossplane or the OCI Service Operator holds its lease
    #[arg(long, help_heading = CLUSTER)]
    pub(crate) take_over: bool,
    /// Controllers to run
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = halves(),
          default_values = Half::ALL.iter().map(|half| half.name()))]
    pub(crate) controllers: Vec<Half>,

    /// Reconcile only objects with these labels; operators with other selectors reconcile the rest
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) watch_label_selector: Option<Shard>,
    /// Service account that composes for namespaced XRs and claims, in their namespace
    #[arg(long, value_name = "NAME")]
    pub(crate) default_service_account: Option<String>,

    /// Address of a function; can be repeated
    #[arg(long = "function", help_heading = FUNCTIONS, value_name = "NAME=ENDPOINT", value_parser = endpoint)]
    pub(crate) functions: Vec<(String, String)>,
    /// Address to connect to instead of a function's Service, for an operator outside the cluster; can be repeated
    #[arg(long = "function-address", help_heading = FUNCTIONS, value_name = "HOST:PORT=ADDRESS", value_parser = address)]
    pub(crate) function_addresses: Vec<(String, SocketAddr)>,
    /// Folder with the operator's client certificate, from `plimsoll certs`
    #[arg(long, help_heading = FUNCTIONS, value_name = "DIR")]
    pub(crate) function_certs_dir: Option<PathBuf>,
    /// Time limit for one call
    #[arg(long, help_heading = FUNCTIONS, value_name = "DURATION", value_parser = duration, default_value = "20s")]
    pub(crate) function_timeout: Duration,
    /// Maximum concurrent calls to one function
    #[arg(long, help_heading = FUNCTIONS, value_name = "COUNT", default_value_t = 32,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) function_concurrency: u16,
    /// Maximum size of a request or response in MiB; a function has its own limit
    #[arg(long, help_heading = FUNCTIONS, value_name = "MIB", default_value_t = 8,
          value_parser = clap::value_parser!(u16).range(1..=2047))]
    pub(crate) function_max_message_size: u16,
    /// Maximum memory for all responses in MiB; those of one function get half of it
    #[arg(long, help_heading = FUNCTIONS, value_name = "MIB", default_value_t = 128,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) function_max_memory: u16,

    /// Elect a leader by a lease; on by default in a cluster, off outside
    #[arg(long, help_heading = RUNNING, value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true")]
    pub(crate) leader_elect: Option<bool>,
    /// Name of the lease; by default it follows from the label selector
    #[arg(long, help_heading = RUNNING, value_name = "NAME")]
    pub(crate) lease_name: Option<String>,
    /// How long a lease is valid without renewal, at least 3s
    #[arg(long, help_heading = RUNNING, value_name = "DURATION", value_parser = lease_duration, default_value = "30s")]
    pub(crate) lease_duration: Duration,
    /// Address of /metrics, or `off`
    #[arg(long, help_heading = RUNNING, value_name = "ADDRESS", default_value_t = Address(Some(Options::METRICS_ADDRESS)))]
    pub(crate) metrics_address: Address,
    /// Address of /livez and /readyz, or `off`
    #[arg(long, help_heading = RUNNING, value_name = "ADDRESS", default_value_t = Address(Some(Options::HEALTH_ADDRESS)))]
    pub(crate) health_address: Address,

    /// URL instead of the region's, for one service (queue, streaming, auth, …) or all; may contain `{region}`; can be
    /// repeated
    #[arg(long, help_heading = OCI, value_name = "[SERVICE=]URL", env = "PLIMSOLL_OCI_ENDPOINT", value_delimiter = ',')]
    pub(crate) oci_endpoint: Vec<String>,
    /// File with descriptions of further kinds; can be repeated
    #[arg(long, help_heading = OCI, value_name = "FILE", value_delimiter = ',')]
    pub(crate) oci_kinds: Vec<PathBuf>,
    /// Never use the operator's own credentials: every namespace needs a Secret `ocicredentials`
    #[arg(long, help_heading = OCI)]
    pub(crate) require_namespace_credentials: bool,
    /// Ignore the annotation plimsoll.dev/adopt: objects never adopt existing resources
    #[arg(long, help_heading = OCI)]
    pub(crate) no_adopt: bool,
    /// Maximum requests per second to each region
    #[arg(long, help_heading = OCI, value_name = "COUNT", default_value_t = 20.0, value_parser = rate)]
    pub(crate) oci_qps: f64,
    /// Interval between polls of an operation, unless the cloud asks for another
    #[arg(long, help_heading = OCI, value_name = "DURATION", value_parser = duration, default_value = "15s")]
    pub(crate) poll_interval: Duration,
    /// Time after which an operation counts as stalled
    #[arg(long, help_heading = OCI, value_name = "DURATION", value_parser = duration, default_value = "1h")]
    pub(crate) operation_deadline: Duration,
    /// How long a new resource may be missing from listings
    #[arg(long, help_heading = OCI, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) create_grace: Duration,
    /// First retry delay after a permanent error; it doubles, up to twelve times this value
    #[arg(long, help_heading = OCI, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    pub(crate) slow_retry: Duration,
    /// Interval between drift checks of a resource
    #[arg(long, help_heading = OCI, value_name = "DURATION", value_parser = duration, default_value = "10m")]
    pub(crate) drift_interval: Duration,
}

/// Where to serve something; `off` disables it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address(pub(crate) Option<SocketAddr>);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(address) => Ok(Self(Some(address))),
            Err(_) if text == "off" => Ok(Self(None)),
            Err(_) => Err("write an address and a port like 127.0.0.1:8080, or off".to_owned()),
        }
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

/// `HOST:PORT=ADDRESS`
fn address(text: &str) -> Result<(String, SocketAddr), String> {
    let named = pair(text).ok().and_then(|(host, address)| Some((host, address.parse().ok()?)));
    named.ok_or_else(|| {
        "write HOST:PORT=ADDRESS, for instance web.plimsoll-system:9443=127.0.0.1:19443".to_owned()
    })
}

pub(super) fn halves() -> impl clap::builder::TypedValueParser<Value = Half> {
    let named = |name: String| Half::ALL.iter().copied().find(|half| half.name() == name);
    PossibleValuesParser::new(Half::ALL.iter().map(|half| half.name()))
        .map(move |name| named(name).expect("clap accepts only their names"))
}

fn lease_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        // A Lease has a resolution of seconds, and stopping in time takes three of them.
        short if short < Duration::from_secs(3) => Err("it must be 3s or more".to_owned()),
        duration => Ok(duration),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(rate),
        _ => Err("write a positive number of requests per second, for instance 20 or 0.5".to_owned()),
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
        for invalid in ["8080", ":8080", "localhost:8080", ""] {
            check(invalid, None);
        }
    }

    #[test]
    fn leases_last_three_seconds_and_rates_are_positive() {
        assert!(lease_duration("3s").is_ok() && rate("0.5").is_ok());
        assert!(lease_duration("2s").is_err());
        for invalid in ["0", "-1", "inf", "NaN", "many"] {
            assert!(rate(invalid).is_err(), "{invalid}");
        }
    }
}
