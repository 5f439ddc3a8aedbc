//! The side that is called: serves a function over fn v1 and v1beta1, with mutual TLS and health.

mod beta;
mod incoming;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use composition::run::{RunRequest, RunResponse};
use rustls::ServerConfig;
use tonic::{Request, Response, Status, async_trait};

use crate::endpoint::Endpoint;
use crate::r#gen::v1 as pb;
use crate::tls::{self, Certificates, CertificatesError, Reloading};
use crate::{BadEndpoint, wire};
use beta::Beta;
use incoming::{Listener, incoming};
use pb::function_runner_service_server::{FunctionRunnerService, FunctionRunnerServiceServer};

/// A composition function.
///
/// Any `async` function or closure from a request to an answer is one.
pub trait Function: Send + Sync + 'static {
    /// Answers a request. An error fails the whole pipeline and reaches the XR as it is; to say something to people, answer
    /// with a fatal result instead.
    fn run(&self, request: RunRequest) -> impl Future<Output = Result<RunResponse, FunctionError>> + Send;
}

impl<F, Answer> Function for F
where
    F: Fn(RunRequest) -> Answer + Send + Sync + 'static,
    Answer: Future<Output = Result<RunResponse, FunctionError>> + Send,
{
    fn run(&self, request: RunRequest) -> impl Future<Output = Result<RunResponse, FunctionError>> + Send {
        self(request)
    }
}

/// Why a function cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FunctionError(pub String);

/// How a function is served.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where to listen: `host:port`, port 0 for any, or `unix:/path`. Functions usually listen on `0.0.0.0:9443`.
    pub address: String,
    /// The function's certificates; without any it serves in the clear.
    pub certificates: Option<Certificates>,
    /// How large a request may be, in bytes.
    pub max_message: usize,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { address: "0.0.0.0:9443".to_owned(), certificates: None, max_message: 64 << 20 }
    }
}

/// A function could not be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is none.
    #[error(transparent)]
    Address(#[from] BadEndpoint),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address as written.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The certificates cannot be used.
    #[error("cannot use the function's certificates")]
    Certificates(#[from] CertificatesError),
    /// The server stopped by itself.
    #[error("the server stopped")]
    Stopped(#[from] tonic::transport::Error),
}

/// Serves `function` until the process is asked to end (SIGTERM or an interrupt); calls under way are finished.
pub async fn serve(function: impl Function, options: ServeOptions) -> Result<(), ServeError> {
    Server::bind(options).await?.run(function, asked_to_end()).await
}

/// A server that listens and does not answer yet.
pub struct Server {
    listener: Listener,
    tls: Option<Arc<Reloading<ServerConfig>>>,
    max_message: usize,
}

impl Server {
    /// Listens.
    pub async fn bind(options: ServeOptions) -> Result<Self, ServeError> {
        let tls = options.certificates.map(tls::server).transpose()?.map(Arc::new);
        let listener = match options.address.strip_suffix(":0") {
            Some(host) => Listener::any_port(host).await,
            None => Listener::bind(&options.address.parse::<Endpoint>()?).await,
        };
        let listener =
            listener.map_err(|source| ServeError::Listen { address: options.address.clone(), source })?;
        Ok(Self { listener, tls, max_message: options.max_message })
    }

    /// The address it listens on, unless that is a socket of this machine.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.address()
    }

    /// Answers until `shutdown` is ready, then finishes the calls under way.
    pub async fn run(
        self,
        function: impl Function,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let service = FunctionRunnerServiceServer::new(Adapter(Arc::new(function)))
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
async fn asked_to_end() {
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
async fn asked_to_end() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// A function as the generated code wants it.
struct Adapter<F>(Arc<F>);

#[async_trait]
impl<F: Function> FunctionRunnerService for Adapter<F> {
    async fn run_function(
        &self,
        request: Request<pb::RunFunctionRequest>,
    ) -> Result<Response<pb::RunFunctionResponse>, Status> {
        let request = wire::read_request(request.into_inner());
        let request = request.map_err(|fault| Status::invalid_argument(format!("the request: {fault}")))?;
        let function = Arc::clone(&self.0);
        // On a task of its own, so that a panic fails one call and not the connection with all others.
        let answer = tokio::spawn(async move { function.run(request).await });
        match answer.await {
            Ok(Ok(answer)) => Ok(Response::new(wire::write_answer(answer))),
            Ok(Err(error)) => Err(Status::unknown(error.to_string())),
            Err(_) => Err(Status::internal("the function panicked")),
        }
    }
}
