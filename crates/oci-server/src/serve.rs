//! The server: from bytes to the cloud and back, with faults on the way.

mod answer;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
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
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::clock::Clock;
use crate::cloud::{Ask, Cloud, Done};
use crate::fault::{Faults, Mishap};
use crate::identity::{COMPARTMENT, Names};
use crate::journal::{Entry, Journal};
use crate::keys::Keys;
use crate::options::Options;
use crate::reply::{Refusal, Reply};
use crate::route::{Operation, query, route};
use crate::timeline::TimelineFor;
use crate::verify::verify;
use crate::wire::{ResetSwitch, Wire};
use answer::Answer;

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

/// A running server and everything one can do to it.
pub struct Server {
    address: SocketAddr,
    config_file: PathBuf,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
    _temporary: Option<TempDir>,
}

struct Shared {
    cloud: Mutex<Cloud>,
    keys: Mutex<Keys>,
    faults: Faults,
    journal: Journal,
    clock: Clock,
}

impl Server {
    /// Its address, for `--oci-endpoint`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A configuration file whose profile `DEFAULT` may call it.
    pub fn config_file(&self) -> &Path {
        &self.config_file
    }

    /// A compartment to use; any other name works as well.
    pub fn compartment(&self) -> &'static str {
        COMPARTMENT
    }

    /// What a client needs to know, as the command line prints it.
    pub fn announcement(&self) -> Value {
        json!({"url": self.url(), "configFile": self.config_file, "compartment": self.compartment()})
    }

    /// Faults on order.
    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    /// The requests so far.
    pub fn journal(&self) -> &Journal {
        &self.shared.journal
    }

    /// The server's time.
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// Revokes the policy of a compartment: whatever is in it, and the compartment itself, cannot be found any more.
    pub fn revoke(&self, compartment: &str) {
        self.shared.cloud().revoked.insert(compartment.to_owned());
    }

    /// Grants it again.
    pub fn grant(&self, compartment: &str) {
        self.shared.cloud().revoked.remove(compartment);
    }

    /// Sets how operations go from now on, before all that was set earlier.
    pub fn set_timeline(&self, timeline: TimelineFor) {
        self.shared.cloud().script.timelines.insert(0, timeline);
    }

    /// Sets the most entries on a page; as many as asked for when none.
    pub fn set_page_size(&self, size: Option<usize>) {
        self.shared.cloud().script.page_size = size;
    }

    /// Every Queue and Stream that has not vanished, as a read would show it, those hidden by lag included.
    pub fn resources(&self) -> Vec<Value> {
        self.shared.cloud().resources(self.shared.clock.now())
    }

    /// Changes fields of a resource behind everyone's back, `lifecycleState` too; whether there is such a resource.
    pub fn edit(&self, id: &str, change: &Map<String, Value>) -> bool {
        self.shared.cloud().edit(id, change, self.shared.clock.now())
    }

    /// Removes a resource behind everyone's back; whether there was one.
    pub fn forget(&self, id: &str) -> bool {
        self.shared.cloud().forget(id)
    }

    /// Opens a session that expires then, and gives the configuration file with its profile `SESSION`. Opened again,
    /// the same files get a new key and a new token.
    pub fn open_session(&self, expires: Timestamp) -> Result<PathBuf, ServeError> {
        let keys = self.shared.keys.lock().unwrap_or_else(PoisonError::into_inner).open_session(expires);
        keys.map_err(|source| ServeError::Keys(Box::new(source)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
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
            verify(parts, body, &mut keys, self.clock.signature_time())
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
