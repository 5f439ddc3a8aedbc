//! `plimsoll operator`: runs the controllers until it is stopped.

use std::io::{self, IsTerminal as _};

use diag::Diagnostic;
use manifest::Namespace;
use operator::{FunctionOptions, Options, TenantOptions};
use oraclecloud::{Catalogue, Service};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::args::operator::Operator;
use crate::codes;
use crate::support::catalogue::read_service;
use crate::support::connect::{about_options, connection};
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::Printer;
use crate::support::process::{self, ShutdownSignals};

/// Enough to compose while responses are parsed; each further thread costs memory.
const WORKERS: usize = 2;

pub(super) fn run(args: &Operator, printer: &mut Printer) -> Outcome {
    printer.only_text("the operator writes only logs")?;
    let options = options(args)?;
    log();
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("operator")
        .enable_all()
        .build()
        .map_err(|error| process::no_runtime(&error))?;
    runtime.block_on(async {
        let stop = CancellationToken::new();
        let mut running = tokio::spawn(operator::run(options, stop.clone()));
        let mut signals = ShutdownSignals::listen()?;
        let ended = tokio::select! {
            ended = &mut running => ended,
            () = signals.recv() => {
                tracing::info!("shutting down; send the signal again to exit at once");
                stop.cancel();
                tokio::select! {
                    ended = &mut running => ended,
                    () = signals.recv() => return Ok(Exit::Passed(process::INTERRUPTED)),
                }
            }
        };
        match ended {
            Ok(Ok(())) => Ok(Exit::Success),
            Ok(Err(error @ operator::Error::Connect(_))) => Err(about_options(error.diagnostic()).into()),
            Ok(Err(error)) => Err(error.diagnostic().into()),
            // A bug; the panic has already been reported.
            Err(_) => Ok(Exit::Failure),
        }
    })
}

/// Initialises logging. Tests of the CLI cannot do it twice: each command is a process.
fn log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    if io::stderr().is_terminal() {
        lines.compact().init();
    } else {
        lines.json().init();
    }
}

fn options(args: &Operator) -> Result<Options, Failure> {
    let kinds = args.oci_kinds.iter().map(|path| read_service(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(Options {
        namespace: args.namespace.clone().and_then(Namespace::new),
        controllers: args.controllers.clone(),
        shard: args.watch_label_selector.clone().unwrap_or_default(),
        lease_name: args.lease_name.clone(),
        install_crds: args.install_crds,
        take_over: args.take_over,
        leader_elect: args.leader_elect,
        lease_duration: args.lease_duration,
        metrics_address: args.metrics_address.0,
        health_address: args.health_address.0,
        operations: operations::Schedule {
            poll_interval: args.poll_interval,
            operation_deadline: args.operation_deadline,
            create_grace: args.create_grace,
            slow_retry: args.slow_retry,
            drift_interval: args.drift_interval,
        },
        oci: oci_settings(args, &kinds)?,
        kinds: kinds.iter().fold(Catalogue::default(), |all, service| all.and(&(*service).into())),
        tenants: TenantOptions {
            require_credentials: args.require_namespace_credentials,
            no_adoption: args.no_adopt,
        },
        functions: FunctionOptions {
            endpoints: args.functions.iter().cloned().collect(),
            addresses: args.function_addresses.iter().cloned().collect(),
            certs_dir: args.function_certs_dir.clone(),
            timeout: args.function_timeout,
            concurrency: args.function_concurrency.into(),
            max_message: usize::from(args.function_max_message_size) << 20,
            max_memory: usize::from(args.function_max_memory) << 20,
            ..FunctionOptions::default()
        },
        default_service_account: args.default_service_account.clone(),
        ..Options::on(connection(&args.kubeconfig))
    })
}

fn oci_settings(args: &Operator, kinds: &[&'static Service]) -> Result<oraclecloud::Settings, Failure> {
    let mut endpoints = oraclecloud::Endpoints::default();
    for service in kinds {
        endpoints.know(service);
    }
    for endpoint in &args.oci_endpoint {
        endpoints.add(endpoint).map_err(|error| {
            Diagnostic::error(codes::OPTION_UNUSABLE, format!("--oci-endpoint {endpoint} cannot be used: {error}"))
                .hint("Write URL or SERVICE=URL, for instance queue=https://messaging.example.com; http:// is allowed only for this machine.")
        })?;
    }
    Ok(oraclecloud::Settings {
        endpoints,
        limiter: oraclecloud::RateLimiter::new(args.oci_qps),
        ..oraclecloud::Settings::default()
    })
}
