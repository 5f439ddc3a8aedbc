//! The operator as a process of its own, so that what it needs can be told from what the measuring needs.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cluster::{Connection, Environment, Session};
use operator::runtime::events::Events;
use operator::runtime::metrics::Metrics;
use operator::{Context, FunctionOptions, Options, composition};
use tokio_util::sync::CancellationToken;

use super::function::NAME;
use super::stage::AGENT;
use crate::Outcome;

/// What the process is when it was started with `operator`.
pub(crate) async fn operator(kubeconfig: &str, certificates: &str, endpoint: &str) -> Outcome<()> {
    let connection = Connection { config_paths: vec![kubeconfig.into()], ..Connection::default() };
    let session = Session::connect(&connection, &Environment::default(), AGENT)?;
    let metrics = Metrics::new();
    let events = Events::start(session.client().clone(), "bench", metrics.clone());
    let functions = FunctionOptions {
        endpoints: BTreeMap::from([(NAME.to_owned(), endpoint.to_owned())]),
        certs_dir: Some(certificates.into()),
        ..FunctionOptions::default()
    };
    let options = Options { functions, ..Options::on(connection) };
    composition::run(Context::new(session, events, metrics, options), CancellationToken::new()).await;
    Ok(())
}

/// The operator while it runs; it ends with this value.
pub(crate) struct Operator(Child);

/// What a process has used.
pub(crate) struct Usage {
    /// Bytes it has now.
    pub(crate) memory: u64,
    /// Bytes it had at most.
    pub(crate) peak: u64,
    /// Time it has computed for.
    pub(crate) cpu: Duration,
}

impl Operator {
    /// Starts this very program as the operator.
    pub(crate) fn start(kubeconfig: &str, certificates: &str, endpoint: &str) -> Outcome<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["operator", kubeconfig, certificates, endpoint]).stdin(Stdio::null());
        Ok(Self(command.spawn()?))
    }

    /// What it has used so far, as Linux tells.
    pub(crate) fn usage(&self) -> Outcome<Usage> {
        let folder = format!("/proc/{}", self.0.id());
        let status = std::fs::read_to_string(format!("{folder}/status"))?;
        let kilobytes = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default()
                << 10
        };
        let stat = std::fs::read_to_string(format!("{folder}/stat"))?;
        // After the name, which may hold anything, in parentheses; times are in hundredths of a second.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks =
            |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default();
        let cpu = Duration::from_millis((ticks(11) + ticks(12)) * 10);
        Ok(Usage { memory: kilobytes("VmRSS:"), peak: kilobytes("VmHWM:"), cpu })
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // It may have ended by itself, and then there is nothing to end.
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}
