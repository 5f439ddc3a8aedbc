//! The server: from bytes to the cloud and back, with faults on the way.

mod answer;
mod server;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::clock::Clock;
use crate::cloud::{Ask, Cloud, Done};
use crate::fault::{Faults, Mishap};
use crate::federation::Federation;
use crate::identity::Names;
use crate::journal::{Entry, Journal};
use crate::keys::Keys;
use crate::options::Options;
use crate::reply::{Refusal, Reply};
use crate::route::{Operation, query, route};
use crate::verify::verify;
use crate::wire::{ResetSwitch, Wire};
use answer::Answer;
pub use server::Server;

/// No request to a control plane is larger.
const LARGEST_REQUEST: usize = 1024 * 1024;

/// Starts a server. It needs a tokio runtime, and stops when the [`Server`] is dropped.
pub async fn serve(options: Options) -> Result<Server, ServeError> {
    if !options.listen.ip().is_loopback() {
        return Err(ServeError::NotLoopback(options.listen));
    }
    let temporary =
        if options.key_dir.is_none() { Some(tempfile::tempdir().map_err(ServeError::Folder)?) } else { None };
    let folder = temporary.as_ref().map(|temporary| temporary.path().to_owned());
    let folder = options.key_dir.or(folder).unwrap_or_default();
    // Making a key takes a while, and nobody can ask for anything before it is there.
    let keys = tokio::task::spawn_blocking(move || Keys::open(&folder))
        .await
        .expect("making keys does not panic")
        .map_err(|source| ServeError::Keys(Box::new(source)))?;
    let journal = Journal::open(options.journal.as_deref()).map_err(|source| ServeError::Journal {
        path: options.journal.clone().unwrap_or_default(),
        source,
    })?;
    let faults = Faults::default();
    for fault in &options.script.faults {
        faults.order(fault.clone());
    }
    let seed = options.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let config_file = keys.config_file();
    let shared = Arc::new(Shared {
        cloud: Mutex::new(Cloud::new(options.script, options.retry_after, Names::new(seed))),
        keys: Mutex::new(keys),
        federation: Mutex::default(),
        faults,
        journal,
        clock: Clock::default(),
    });
    let listener = TcpListener::bind(options.listen)
        .await
        .map_err(|source| ServeError::Listen { address: options.listen, source })?;
    let address =
        listener.local_addr().map_err(|source| ServeError::Listen { address: options.listen, source })?;
    let task = tokio::spawn(accept(listener, shared.clone()));
    Ok(Server { address, config_file, shared, task, _temporary: temporary })
}

struct Shared {
    cloud: Mutex<Cloud>,
    keys: Mutex<Keys>,
    federation: Mutex<Federation>,
    faults: Faults,
    journal: Journal,
    clock: Clock,
}

/// Why a server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Without TLS, nobody else may listen in.
    #[error("{0} is not an address of this machine alone; listen on 127.0.0.1")]
    NotLoopback(SocketAddr),
    /// The address cannot be used.
    #[error("cannot listen on {address}")]
    Listen {
        /// Which address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// No folder for keys.
    #[error("cannot make a folder for keys")]
    Folder(#[source] std::io::Error),
    /// The keys cannot be used.
    #[error("cannot prepare keys and the configuration file")]
    Keys(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The journal cannot be written.
    #[error("cannot write the journal {}", path.display())]
    Journal {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Takes connections until it is aborted, and all of them with it.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(converse(stream, shared.clone()));
            }
            Err(error) => {
                // Too many open files, usually; they become fewer.
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn converse(stream: TcpStream, shared: Arc<Shared>) {
    let switch = ResetSwitch::default();
    // Small answers must not wait for more.
    let _ = stream.set_nodelay(true);
    let wire = Wire::new(stream, switch.clone());
    let service = service_fn(move |request| {
        let (shared, switch) = (shared.clone(), switch.clone());
        async move { shared.answer(request).await.into_response(&switch) }
    });
    // A reset on order and a truncated body end a connection with an error, and a client may just leave.
    if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(wire), service).await {
        tracing::debug!(%error, "a connection ended early");
    }
}

impl Shared {
    fn cloud(&self) -> MutexGuard<'_, Cloud> {
        self.cloud.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn federation(&self) -> MutexGuard<'_, Federation> {
        self.federation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let (parts, body) = request.into_parts();
        let Ok(body) = Limited::new(body, LARGEST_REQUEST).collect().await else {
            return Answer::Reset;
        };
        let (outcome, mishap) = self.consider(&parts, &body.to_bytes());
        if let Some(Mishap::SlowMillis(millis)) = mishap {
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
        Answer::new(outcome, mishap, self.clock.signature_time())
    }

    /// What is answered before anything happens to it on the way, and what happens to it.
    fn consider(&self, parts: &Parts, body: &Bytes) -> (Reply, Option<Mishap>) {
        let text = |name: &str| header(&parts.headers, name);
        let routed = route(&parts.method, parts.uri.path());
        let operation = routed.as_ref().map(|(operation, _)| *operation);
        let verified = {
            let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            match operation {
                Some(operation) if operation.is_federation() => Ok(()),
                _ => verify(parts, body, &mut keys, self.clock.signature_time()),
            }
        };
        let (result, mishap) = match (verified, &routed) {
            (Err(refusal), _) => (Err(refusal), None),
            (Ok(()), None) => (Err(Refusal::no_route()), None),
            (Ok(()), Some((operation, id))) => {
                let mishap = self.faults.befall(*operation);
                (self.act(parts, body, *operation, id, mishap.as_ref()), mishap)
            }
        };
        let (mut reply, resource, effect) = match result {
            Ok(Done { reply, resource, effect }) => (reply, resource, effect),
            Err(refusal) => (refusal.into(), None, false),
        };
        let request_id = self.cloud().names.request_id(text("opc-request-id"));
        reply.headers.push(("opc-request-id", request_id.clone()));
        let reset = matches!(mishap, Some(Mishap::ResetBefore | Mishap::ResetAfter));
        let code = reply.body.as_ref().filter(|_| !reply.status.is_success());
        self.journal.write(Entry {
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
            fault: mishap.clone(),
        });
        (reply, mishap)
    }

    /// Lets the cloud act, unless a fault comes first.
    fn act(
        &self,
        parts: &Parts,
        body: &Bytes,
        operation: Operation,
        id: &str,
        mishap: Option<&Mishap>,
    ) -> Result<Done, Refusal> {
        if let Some(mishap) = mishap.filter(|mishap| !mishap.has_effect()) {
            return Ok(Done { reply: answer::refused(mishap), resource: None, effect: false });
        }
        if operation.is_federation() {
            let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            let now = self.clock.signature_time();
            let reply = self.federation().answer(operation, id, (parts, body), &mut keys, now)?;
            return Ok(Done { reply, resource: None, effect: false });
        }
        let ask = Ask {
            operation,
            id,
            query: &query(parts.uri.query()),
            body,
            retry_token: header(&parts.headers, "opc-retry-token"),
            if_match: header(&parts.headers, "if-match"),
        };
        self.cloud().handle(&ask, self.clock.now())
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
