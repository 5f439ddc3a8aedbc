//! The HTTP server: verifies requests, passes them to the cloud, injects faults and writes the journal.

mod response;
mod server;

use std::error::Error as _;
use std::future::poll_fn;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::clock::Clock;
use crate::cloud::{ApiRequest, Cloud, Handled};
use crate::fault::{FaultKind, Faults};
use crate::federation::Federation;
use crate::ids::IdGenerator;
use crate::journal::{Journal, JournalEntry};
use crate::keys::Keys;
use crate::lock;
use crate::options::Options;
use crate::reply::{ApiError, Reply};
use crate::route::{Routed, Router, header, query, split_region};
use crate::verify::verify;
use response::{Body, Reset, refused, response};
pub use server::Server;

/// Larger than any request to a control plane.
const MAX_REQUEST_SIZE: usize = 1024 * 1024;

/// Starts a server. It needs a tokio runtime, and stops when the [`Server`] is dropped.
pub async fn serve(options: Options) -> Result<Server, ServeError> {
    if !options.listen.ip().is_loopback() {
        return Err(ServeError::NotLoopback(options.listen));
    }
    let (folder, temporary) = if let Some(folder) = options.key_dir {
        (folder, None)
    } else {
        let temporary = tempfile::tempdir().map_err(ServeError::Folder)?;
        (temporary.path().to_owned(), Some(temporary))
    };
    // Generating a key takes a while.
    let keys = tokio::task::spawn_blocking(move || Keys::open(&folder))
        .await
        .expect("opening keys does not panic")
        .map_err(|source| ServeError::Keys(Box::new(source)))?;
    let journal = Journal::open(options.journal.as_deref()).map_err(|source| ServeError::Journal {
        path: options.journal.clone().unwrap_or_default(),
        source,
    })?;
    let faults = Faults::default();
    for fault in &options.script.faults {
        faults.inject(fault.clone());
    }
    let seed = options.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let config_file = keys.config_file();
    let shared = Arc::new(Shared {
        router: Router::of(&options.kinds),
        cloud: Mutex::new(Cloud::new(options.script, options.retry_after, IdGenerator::new(seed))),
        federation: Mutex::new(Federation::new(keys)),
        faults,
        journal,
        clock: Clock::default(),
    });
    let cannot_listen = |source| ServeError::Listen { address: options.listen, source };
    let listener = TcpListener::bind(options.listen).await.map_err(cannot_listen)?;
    let address = listener.local_addr().map_err(cannot_listen)?;
    let task = tokio::spawn(accept(listener, shared.clone()));
    Ok(Server { address, config_file, shared, task, _temporary: temporary })
}

struct Shared {
    router: Router,
    cloud: Mutex<Cloud>,
    federation: Mutex<Federation>,
    faults: Faults,
    journal: Journal,
    clock: Clock,
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Without TLS, other machines could eavesdrop.
    #[error("{0} is not a loopback address; listen on 127.0.0.1")]
    NotLoopback(SocketAddr),
    #[error("cannot listen on {address}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("cannot create a folder for keys")]
    Folder(#[source] std::io::Error),
    #[error("cannot prepare keys and the configuration file")]
    Keys(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("cannot write the journal {}", path.display())]
    Journal { path: PathBuf, source: std::io::Error },
}

/// Accepts connections until it is aborted, which closes all of them.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => _ = connections.spawn(serve_connection(stream, shared.clone())),
            Err(error) => {
                // Usually too many open files, which is temporary.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(stream: TcpStream, shared: Arc<Shared>) {
    // Small responses must not be delayed.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let shared = shared.clone();
        Box::pin(async move { shared.respond(request).await })
    });
    let mut connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // Injected resets and truncations end a connection with an error, and so does a client that leaves.
    if let Err(error) = poll_fn(|context| connection.poll_without_shutdown(context)).await {
        tracing::debug!(%error, "a connection ended early");
        if error.source().is_some_and(<dyn std::error::Error>::is::<Reset>) {
            // An orderly close would be no reset.
            let _ = connection.into_parts().io.into_inner().set_zero_linger();
        }
    }
}

impl Shared {
    fn cloud(&self) -> MutexGuard<'_, Cloud> {
        lock(&self.cloud)
    }

    fn federation(&self) -> MutexGuard<'_, Federation> {
        lock(&self.federation)
    }

    async fn respond(&self, request: Request<Incoming>) -> Result<Response<Body>, Reset> {
        let (parts, body) = request.into_parts();
        let body = Limited::new(body, MAX_REQUEST_SIZE).collect().await.map_err(|_| Reset)?;
        let (reply, fault) = self.handle(&parts, &body.to_bytes());
        if let Some(FaultKind::SlowMillis(millis)) = fault {
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
        response(reply, fault, self.clock.signature_time())
    }

    /// The undamaged reply, and the fault to inject into it.
    fn handle(&self, parts: &Parts, body: &[u8]) -> (Reply, Option<FaultKind>) {
        let text = |name: &str| header(&parts.headers, name);
        let (region, path) = split_region(parts.uri.path());
        let routed = self.router.route(&parts.method, path);
        let operation = routed.as_ref().map(|routed| routed.operation);
        let verified = match operation {
            Some(operation) if operation.is_federation() => Ok(String::new()),
            _ => verify(parts, body, &mut self.federation().keys, self.clock.signature_time()),
        };
        let (result, fault) = match (verified, &routed) {
            (Err(error), _) => (Err(error), None),
            (Ok(_), None) => (Err(ApiError::no_route()), None),
            (Ok(tenancy), Some(routed)) => {
                let fault = self.faults.next_call(routed.operation);
                let place = format!("{tenancy}/{region}");
                (self.execute(parts, body, &place, routed, fault.as_ref()), fault)
            }
        };
        let Handled { mut reply, resource, effect } =
            result.unwrap_or_else(|error| Handled::read(error.into(), None));
        let request_id = self.cloud().ids.request_id(text("opc-request-id"));
        reply.headers.push(("opc-request-id", request_id.clone()));
        let reset = matches!(fault, Some(FaultKind::ResetBefore | FaultKind::ResetAfter));
        let code = reply.body.as_ref().filter(|_| !reply.status.is_success());
        self.journal.write(JournalEntry {
            number: 0,
            time: self.clock.now(),
            operation,
            request: format!("{} {}", parts.method, parts.uri),
            resource,
            status: (!reset).then(|| reply.status.as_u16()),
            code: code.and_then(|body| Some(body.get("code")?.as_str()?.to_owned())),
            effect,
            retry_token: text("opc-retry-token").map(str::to_owned),
            if_match: text("if-match").map(str::to_owned),
            user_agent: text("user-agent").map(str::to_owned),
            request_id,
            fault: fault.clone(),
        });
        (reply, fault)
    }

    /// Carries out a request unless a fault prevents it.
    fn execute(
        &self,
        message: &Parts,
        body: &[u8],
        place: &str,
        Routed { operation, does, id, parents }: &Routed,
        fault: Option<&FaultKind>,
    ) -> Result<Handled, ApiError> {
        if let Some(fault) = fault.filter(|fault| !fault.has_effect()) {
            return Ok(Handled::read(refused(fault), None));
        }
        if operation.is_federation() {
            let now = self.clock.signature_time();
            let reply = self.federation().handle(*operation, id, message, body, now)?;
            return Ok(Handled::read(reply, None));
        }
        let request = ApiRequest {
            place,
            operation: *operation,
            does: *does,
            id,
            parents,
            query: &query(message.uri.query()),
            body,
            retry_token: header(&message.headers, "opc-retry-token"),
            if_match: header(&message.headers, "if-match"),
        };
        self.cloud().handle(&request, self.clock.now())
    }
}
