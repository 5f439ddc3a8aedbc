//! The plugin process: the handshake with Terraform, the gRPC server and its shutdown.

mod handshake;
mod incoming;
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
use handshake::PluginEnvironment;
use listener::Listener;
use services::{Controller, Stdio};

/// The service whose health go-plugin checks.
const HEALTH_SERVICE: &str = "plugin";

/// How long open calls may take after Shutdown; Terraform kills the process after two seconds.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(100);

/// Terraform gives a plugin a minute to start; without a connection by then, Terraform is gone.
const FIRST_CLIENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Terraform keeps its connection open, so a lost one means that Terraform was killed.
const LOST_CLIENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves a provider until Terraform shuts it down. Call it first in `main`.
///
/// `address` is the provider's in the registry: `registry.terraform.io/jmorris0x0/k8sconnect`. `provider` is called after the
/// handshake, so that creating the provider does not delay it.
///
/// With the argument `-debug`, the process prints how to attach Terraform and waits for it.
pub fn serve(address: &str, provider: impl FnOnce() -> Arc<dyn Provider> + Send + 'static) -> ExitCode {
    let environment = |name: &str| std::env::var(name).ok();
    panics::install_hook();
    log::init(address, environment);
    let debug = std::env::args().skip(1).any(|argument| matches!(argument.as_str(), "-debug" | "--debug"));
    let served = if debug {
        serve_debug(address, Box::new(provider))
    } else {
        serve_plugin(environment, Box::new(provider))
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error);
            ExitCode::FAILURE
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum ServeError {
    #[error(transparent)]
    Handshake(#[from] handshake::HandshakeError),
    #[error("cannot listen for Terraform")]
    Listen(#[source] std::io::Error),
    #[error("cannot set up TLS with Terraform")]
    Tls(#[from] tls::TlsError),
    #[error("cannot write to standard output")]
    Stdout(#[source] std::io::Error),
    #[error("cannot start the runtime")]
    Runtime(#[source] std::io::Error),
    #[error("the connection to Terraform failed")]
    Transport(#[from] tonic::transport::Error),
}

/// Serves the Terraform that started this process.
fn serve_plugin(environment: impl Fn(&str) -> Option<String>, factory: Factory) -> Result<(), ServeError> {
    let environment = PluginEnvironment::read(environment)?;
    let runtime = runtime()?;
    let entered = runtime.enter();
    // Before the handshake, so that no interrupt from the terminal comes in between.
    ignore_interrupts();
    let listener = Listener::bind(environment.socket_dir.as_deref(), &environment.ports);
    let listener = listener.map_err(ServeError::Listen)?;
    drop(entered);
    let pinned = environment.client_certificate.as_deref().map(tls::pinned).transpose()?;
    let certificate = pinned.as_ref().map(|pinned| pinned.certificate.as_ref());
    print(&environment.handshake_line(&listener.address, certificate)).map_err(ServeError::Stdout)?;
    run(runtime, serve_on(listener, pinned.map(|pinned| pinned.config), factory, Lifetime::Client))
}

/// Serves a Terraform that the user attaches.
fn serve_debug(address: &str, factory: Factory) -> Result<(), ServeError> {
    let runtime = runtime()?;
    let entered = runtime.enter();
    let listener = Listener::bind(None, &(0..=0)).map_err(ServeError::Listen)?;
    drop(entered);
    let reattach = serde_json::json!({ address: {
        "Protocol": "grpc",
        "ProtocolVersion": handshake::PROTOCOL,
        "Pid": std::process::id(),
        "Test": true,
        "Addr": { "Network": listener.address.network, "String": listener.address.address },
    } });
    let hint = format!(
        "Provider started. To attach Terraform CLI, set the TF_REATTACH_PROVIDERS environment variable with the \
         following:\n\n\tTF_REATTACH_PROVIDERS='{reattach}'\n"
    );
    print(&hint).map_err(ServeError::Stdout)?;
    run(runtime, serve_on(listener, None, factory, Lifetime::UntilInterrupt))
}

/// When the process ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lifetime {
    /// When Terraform shuts it down or is gone. Not on an interrupt: a terminal sends it to both processes, and Terraform
    /// then calls StopProvider.
    Client,
    /// When the user interrupts it.
    UntilInterrupt,
}

/// Terraform makes up to ten concurrent calls, which mostly wait.
fn runtime() -> Result<Runtime, ServeError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().map_err(ServeError::Runtime)
}

fn run(runtime: Runtime, served: impl Future<Output = Result<(), ServeError>>) -> Result<(), ServeError> {
    let done = runtime.block_on(served);
    // Work in progress has no client left.
    runtime.shutdown_background();
    done
}

async fn serve_on(
    listener: Listener,
    tls: Option<Arc<rustls::ServerConfig>>,
    factory: Factory,
    lifetime: Lifetime,
) -> Result<(), ServeError> {
    let shutdown = CancellationToken::new();
    let (clients, connected) = watch::channel(0);
    let (health_reporter, health) = tonic_health::server::health_reporter();
    health_reporter.set_service_status(HEALTH_SERVICE, tonic_health::ServingStatus::Serving).await;
    // The folder of the socket must outlive the server.
    let Listener { socket, folder: _folder, .. } = listener;
    let server = tonic::transport::Server::builder()
        .add_service(Server::new(factory).into_service())
        .add_service(GrpcControllerServer::new(Controller(shutdown.clone())))
        .add_service(GrpcStdioServer::new(Stdio(shutdown.clone())))
        .add_service(health)
        .serve_with_incoming_shutdown(
            incoming::incoming(socket, tls, clients),
            shutdown.clone().cancelled_owned(),
        );
    let ended = async {
        match lifetime {
            Lifetime::Client => tokio::select! {
                () = incoming::no_client(connected, FIRST_CLIENT_TIMEOUT, LOST_CLIENT_TIMEOUT) => {}
                () = shutdown.cancelled() => tokio::time::sleep(SHUTDOWN_GRACE).await,
            },
            Lifetime::UntilInterrupt => {
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

/// An interrupt no longer ends the process once there is a handler for it. Needs a runtime.
fn ignore_interrupts() {
    #[cfg(unix)]
    if let Err(error) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()) {
        tracing::warn!(%error, "cannot ignore interrupts");
    }
    #[cfg(windows)]
    if let Err(error) = tokio::signal::windows::ctrl_c() {
        tracing::warn!(%error, "cannot ignore interrupts");
    }
}

fn print(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

#[expect(clippy::print_stderr, reason = "there is no connection to Terraform")]
fn print_error(error: &ServeError) {
    eprintln!("{error}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        eprintln!("  caused by: {cause}");
        source = cause.source();
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
