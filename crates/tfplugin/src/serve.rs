//! The process: how Terraform starts it, talks to it and ends it.

mod connection;
mod handshake;
mod listener;
mod services;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::r#gen::plugin::grpc_controller_server::GrpcControllerServer;
use crate::r#gen::plugin::grpc_stdio_server::GrpcStdioServer;
use crate::provider::Provider;
use crate::rpc::{Factory, Server};
use crate::{log, panics, tls};
use handshake::Terms;
use listener::Listener;
use services::{Controller, Stdio};

/// The service whose health go-plugin asks for.
const HEALTH: &str = "plugin";

/// How long an answered shutdown may still take; Terraform kills after two seconds.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(100);

/// Terraform gives a plugin a minute to start; one it has not connected to by then was forgotten.
const FIRST_CLIENT: Duration = Duration::from_secs(60);

/// Terraform keeps its connection open; one that is lost is not coming back, because Terraform was killed.
const LOST_CLIENT: Duration = Duration::from_secs(5);

/// Serves a provider until Terraform is done with it; to be called first thing in `main`.
///
/// `address` names the provider in the registry: `registry.terraform.io/jmorris0x0/k8sconnect`. `provider` is called
/// after the handshake, so that making the provider delays nothing.
///
/// With `-debug` as argument the process waits for a Terraform to be attached by hand, and says how.
pub fn serve(address: &str, provider: impl FnOnce() -> Arc<dyn Provider> + Send + 'static) -> ExitCode {
    let environment = |name: &str| std::env::var(name).ok();
    panics::install_hook();
    log::init(address, environment);
    let debug = std::env::args().skip(1).any(|argument| matches!(argument.as_str(), "-debug" | "--debug"));
    let served = if debug {
        serve_attached(address, Box::new(provider))
    } else {
        serve_started(environment, Box::new(provider))
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum ServeError {
    #[error(transparent)]
    Refused(#[from] handshake::Refusal),
    #[error("could not listen for Terraform")]
    Listen(#[source] std::io::Error),
    #[error("could not set up the connection to Terraform")]
    Tls(#[from] tls::TlsError),
    #[error("could not write the handshake")]
    Handshake(#[source] std::io::Error),
    #[error("could not start the runtime")]
    Runtime(#[source] std::io::Error),
    #[error("the connection to Terraform failed")]
    Transport(#[from] tonic::transport::Error),
}

/// Serves the Terraform that started this process.
fn serve_started(environment: impl Fn(&str) -> Option<String>, factory: Factory) -> Result<(), ServeError> {
    let terms = Terms::read(environment)?;
    let runtime = runtime()?;
    // Before Terraform knows us, so that no interrupt from the terminal can come in between.
    ignore_interrupts(&runtime);
    let listener = Listener::bind(terms.socket_dir.as_deref(), &terms.ports).map_err(ServeError::Listen)?;
    let pinned = terms.client_certificate.as_deref().map(tls::pinned).transpose()?;
    let certificate = pinned.as_ref().map(|pinned| pinned.certificate.as_ref());
    print(&terms.answer(&listener.address, certificate)).map_err(ServeError::Handshake)?;
    run(runtime, serve_on(listener, pinned.map(|pinned| pinned.config), factory, End::WithTerraform))
}

/// Serves whatever Terraform is told about this process.
fn serve_attached(address: &str, factory: Factory) -> Result<(), ServeError> {
    let listener = Listener::bind(None, &(0..=0)).map_err(ServeError::Listen)?;
    let reattach = serde_json::json!({ address: {
        "Protocol": "grpc",
        "ProtocolVersion": handshake::PROTOCOL,
        "Pid": std::process::id(),
        "Test": true,
        "Addr": { "Network": listener.address.network(), "String": listener.address.text() },
    } });
    let hint = format!(
        "Provider started. To attach Terraform CLI, set the TF_REATTACH_PROVIDERS environment variable with the \
         following:\n\n\tTF_REATTACH_PROVIDERS='{reattach}'\n"
    );
    print(&hint).map_err(ServeError::Handshake)?;
    run(runtime()?, serve_on(listener, None, factory, End::OnInterrupt))
}

/// What ends the process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Terraform says so, or is gone. An interrupt does not: a terminal sends it to us as well as to Terraform, which
    /// then asks us to stop in its own way.
    WithTerraform,
    /// Whoever started it interrupts it.
    OnInterrupt,
}

/// Terraform makes ten calls at a time, which mostly wait.
fn runtime() -> Result<Runtime, ServeError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().map_err(ServeError::Runtime)
}

fn run(runtime: Runtime, served: impl Future<Output = Result<(), ServeError>>) -> Result<(), ServeError> {
    let done = runtime.block_on(served);
    // Work in progress has no one left to report to.
    runtime.shutdown_background();
    done
}

async fn serve_on(
    listener: Listener,
    tls: Option<Arc<rustls::ServerConfig>>,
    factory: Factory,
    end: End,
) -> Result<(), ServeError> {
    let shutdown = CancellationToken::new();
    let (clients, present) = watch::channel(0);
    let (health_reporter, health) = tonic_health::server::health_reporter();
    health_reporter.set_service_status(HEALTH, tonic_health::ServingStatus::Serving).await;
    // The folder of the socket has to stay as long as the server.
    let Listener { socket, folder: _folder, .. } = listener;
    let incoming = connection::accept(socket, tls, clients).map_err(ServeError::Listen)?;
    let server = tonic::transport::Server::builder()
        .add_service(Server::new(factory).into_service())
        .add_service(GrpcControllerServer::new(Controller(shutdown.clone())))
        .add_service(GrpcStdioServer::new(Stdio(shutdown.clone())))
        .add_service(health)
        .serve_with_incoming_shutdown(incoming, shutdown.clone().cancelled_owned());
    let ended = async {
        match end {
            End::WithTerraform => tokio::select! {
                () = connection::abandoned(present, FIRST_CLIENT, LOST_CLIENT) => {}
                () = shutdown.cancelled() => tokio::time::sleep(SHUTDOWN_GRACE).await,
            },
            End::OnInterrupt => {
                if tokio::signal::ctrl_c().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        }
    };
    tokio::select! {
        served = server => Ok(served?),
        () = ended => Ok(()),
    }
}

/// Once listened for, an interrupt no longer ends the process.
fn ignore_interrupts(runtime: &Runtime) {
    let _entered = runtime.enter();
    #[cfg(unix)]
    if let Err(error) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()) {
        tracing::warn!(%error, "interrupts cannot be ignored");
    }
    #[cfg(windows)]
    if let Err(error) = tokio::signal::windows::ctrl_c() {
        tracing::warn!(%error, "interrupts cannot be ignored");
    }
}

fn print(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

#[expect(clippy::print_stderr, reason = "there is no Terraform to tell, or no way to tell it")]
fn complain(error: &ServeError) {
    eprintln!("{error}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        eprintln!("  because {cause}");
        source = cause.source();
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
