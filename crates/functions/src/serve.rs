//! The server side: serves a function over fn v1 and v1beta1, with mutual TLS and gRPC health.

mod beta;
mod incoming;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use composition::protocol::{RunRequest, RunResponse};
use rustls::ServerConfig;
use tonic::{Request, Response, Status, async_trait};

use crate::endpoint::Endpoint;
use crate::r#gen::v1 as pb;
use crate::tls::{self, Certificates, CertificatesError, Reloading};
use crate::{InvalidEndpoint, wire};
use beta::Beta;
use incoming::{Listener, incoming};
use pb::function_runner_service_server::{FunctionRunnerService, FunctionRunnerServiceServer};

/// A composition function.
///
/// Any `async` function or closure from a request to a response is one.
pub trait Function: Send + Sync + 'static {
    /// An error fails the whole pipeline and is shown on the XR verbatim; to tell the user something, return a fatal
    /// result instead.
    fn run(&self, request: RunRequest) -> impl Future<Output = Result<RunResponse, FunctionError>> + Send;
}

impl<F, Running> Function for F
where
    F: Fn(RunRequest) -> Running + Send + Sync + 'static,
    Running: Future<Output = Result<RunResponse, FunctionError>> + Send,
{
    fn run(&self, request: RunRequest) -> impl Future<Output = Result<RunResponse, FunctionError>> + Send {
        self(request)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FunctionError(pub String);

#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// `host:port`, with port 0 for any free port, or `unix:/path`.
    pub address: String,
    pub transport: Transport,
    /// The largest request, in bytes.
    pub max_message: usize,
}

/// How the engine reaches the function. There is no default: plaintext is served only if it is asked for.
#[derive(Clone, Debug)]
pub enum Transport {
    /// Mutual TLS.
    Tls(Certificates),
    /// Plaintext without authentication, for development on one machine.
    Insecure,
}

impl ServeOptions {
    pub fn new(address: impl Into<String>, transport: Transport) -> Self {
        Self { address: address.into(), transport, max_message: 64 << 20 }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Address(#[from] InvalidEndpoint),
    #[error("cannot listen on {address}")]
    Listen { address: String, source: io::Error },
    #[error("cannot use the function's certificates")]
    Certificates(#[from] CertificatesError),
    #[error("the server failed")]
    Stopped(#[from] tonic::transport::Error),
}

/// Serves `function` until SIGTERM or an interrupt, then finishes the calls in flight.
pub async fn serve(function: impl Function, options: ServeOptions) -> Result<(), ServeError> {
    Server::bind(options).await?.run(function, shutdown_signal()).await
}

/// A bound server that does not accept connections yet.
pub struct Server {
    listener: Listener,
    tls: Option<Arc<Reloading<ServerConfig>>>,
    max_message: usize,
}

impl Server {
    pub async fn bind(options: ServeOptions) -> Result<Self, ServeError> {
        let tls = match options.transport {
            Transport::Tls(certificates) => Some(Arc::new(tls::server(certificates)?)),
            Transport::Insecure => None,
        };
        let listener = match options.address.strip_suffix(":0") {
            Some(host) => Listener::any_port(host).await,
            None => Listener::bind(&options.address.parse::<Endpoint>()?).await,
        };
        let listener =
            listener.map_err(|source| ServeError::Listen { address: options.address.clone(), source })?;
        Ok(Self { listener, tls, max_message: options.max_message })
    }

    /// None for a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.address()
    }

    /// Serves until `shutdown` completes, then finishes the calls in flight.
    pub async fn run(
        self,
        function: impl Function,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let service = FunctionRunnerServiceServer::new(Service(Arc::new(function)))
            .max_decoding_message_size(self.max_message)
            .max_encoding_message_size(usize::MAX);
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<FunctionRunnerServiceServer<()>>().await;
        tonic::transport::Server::builder()
            .add_service(service.clone())
            .add_service(Beta(service))
            .add_service(health_service)
            .serve_with_incoming_shutdown(incoming(self.listener, self.tls), shutdown)
            .await?;
        Ok(())
    }
}

#[cfg(unix)]
async fn shutdown_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        Ok(()) = tokio::signal::ctrl_c() => {}
    }
}

#[cfg(not(unix))]
async fn shutdown_signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

struct Service<F>(Arc<F>);

#[async_trait]
impl<F: Function> FunctionRunnerService for Service<F> {
    async fn run_function(
        &self,
        request: Request<pb::RunFunctionRequest>,
    ) -> Result<Response<pb::RunFunctionResponse>, Status> {
        let request = wire::read_request(request.into_inner());
        let request = request.map_err(|error| Status::invalid_argument(format!("the request: {error}")))?;
        let function = Arc::clone(&self.0);
        // A task of its own, so that a panic fails this call and not every call on the connection.
        let response = tokio::spawn(async move { function.run(request).await });
        match response.await {
            Ok(Ok(response)) => Ok(Response::new(wire::write_response(response))),
            Ok(Err(error)) => Err(Status::unknown(error.to_string())),
            Err(_) => Err(Status::internal("the function panicked")),
        }
    }
}
