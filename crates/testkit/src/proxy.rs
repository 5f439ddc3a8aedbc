//! A proxy that kills: it stands between a program and the servers it talks to, and ends the program at a chosen request.
//!
//! ```text
//! program ──▶ Proxy ──▶ server         Strike { nth, when: BeforeForwarding | BeforeRelaying }
//!    ▲          │
//!    └─SIGKILL──┘  at the n-th request, before the server has it or before the program has the answer
//! ```

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, TRANSFER_ENCODING};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

type Answer = Response<UnsyncBoxBody<Bytes, Failure>>;

/// What closes the program's connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failure(String);

impl Failure {
    #[expect(clippy::needless_pass_by_value, reason = "`map_err` gives errors away")]
    fn of(error: impl ToString) -> Self {
        Self(error.to_string())
    }
}

/// When the program is killed, seen from the request that does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// The server never hears of the request.
    BeforeForwarding,
    /// The server has done what was asked, and the program never learns of it.
    BeforeRelaying,
}

impl When {
    /// Both.
    pub const ALL: [Self; 2] = [Self::BeforeForwarding, Self::BeforeRelaying];
}

/// Where the program's requests go, all of them counted together, and which of them is its last. Clones share it.
#[derive(Clone, Default)]
pub struct Crossing(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    requests: Vec<String>,
    others: Vec<String>,
    strike: Option<(usize, When)>,
    victim: Option<Arc<Mutex<Child>>>,
    struck: Option<String>,
}

impl Crossing {
    /// Counts from here, and kills nobody until told to.
    pub fn restart(&self) {
        let mut state = self.state();
        state.requests.clear();
        state.strike = None;
        state.struck = None;
    }

    /// Kills the program at the `nth` request from the beginning, counted from 1.
    pub fn strike(&self, nth: usize, when: When) {
        self.state().strike = Some((nth, when));
    }

    /// Whom to kill.
    pub fn watch(&self, victim: Arc<Mutex<Child>>) {
        self.state().victim = Some(victim);
    }

    /// The requests so far that were boundaries.
    pub fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    /// The requests so far that were no boundaries.
    pub fn others(&self) -> Vec<String> {
        self.state().others.clone()
    }

    /// The request at which the program was killed.
    pub fn struck(&self) -> Option<String> {
        self.state().struck.clone()
    }

    /// Counts a request; whether it is the last.
    fn cross(&self, request: String) -> Option<When> {
        let mut state = self.state();
        state.requests.push(request);
        let (nth, when) = state.strike?;
        (state.requests.len() == nth && state.struck.is_none()).then_some(when)
    }

    /// Kills the program, and returns when it is dead.
    fn kill(&self) {
        let (victim, last) = {
            let state = self.state();
            (state.victim.clone(), state.requests.last().cloned())
        };
        if let Some(victim) = victim {
            let mut victim = victim.lock().unwrap_or_else(PoisonError::into_inner);
            // One that has ended by itself is as dead.
            let _ = victim.kill();
            let _ = victim.wait();
        }
        self.state().struck = last;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The server behind a proxy.
#[derive(Clone)]
pub enum Upstream {
    /// An API server, reached as whoever the client is.
    Kubernetes(kube::Client),
    /// A server without TLS, by its address. Its requests are passed on as they are, the host they name included.
    Plain(String),
}

/// A proxy on loopback. It ends when it is dropped, with every connection.
pub struct Proxy {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy for `upstream` whose requests are counted in `crossing`, except those that `is_boundary` says
    /// are none: `GET /path?query`.
    ///
    /// # Panics
    ///
    /// If it cannot listen.
    pub async fn start(upstream: Upstream, crossing: Crossing, is_boundary: fn(&str) -> bool) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has free ports");
        let address = listener.local_addr().expect("a listener has an address");
        let plain = legacy::Client::builder(TokioExecutor::new()).build_http();
        let way = Arc::new(Way { upstream, crossing, is_boundary, plain });
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(converse(stream, Arc::clone(&way)));
                while connections.try_join_next().is_some() {}
            }
        });
        Self { address, task }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Way {
    upstream: Upstream,
    crossing: Crossing,
    is_boundary: fn(&str) -> bool,
    plain: legacy::Client<HttpConnector, Full<Bytes>>,
}

async fn converse(stream: TcpStream, way: Arc<Way>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let way = Arc::clone(&way);
        async move { way.pass(request).await }
    });
    // A program that is killed leaves its connections behind, and a request that kills it has no answer.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

impl Way {
    /// The answer for the program; an error closes the connection.
    async fn pass(&self, request: Request<Incoming>) -> Result<Answer, Failure> {
        let shown = format!("{} {}", request.method(), request.uri());
        let fate = if (self.is_boundary)(&shown) {
            self.crossing.cross(shown)
        } else {
            self.crossing.state().others.push(shown);
            None
        };
        if fate == Some(When::BeforeForwarding) {
            self.kill().await;
            return Err(Failure::of("killed"));
        }
        let (mut parts, body) = request.into_parts();
        let body = body.collect().await.map_err(Failure::of)?.to_bytes();
        for name in [&CONNECTION, &TRANSFER_ENCODING, &CONTENT_LENGTH] {
            parts.headers.remove(name);
        }
        let answer = match self.forward(Request::from_parts(parts, body)).await {
            Ok(answer) => answer,
            Err(error) => unreachable_upstream(&error),
        };
        if fate == Some(When::BeforeRelaying) {
            // Only a whole answer says that the server is done.
            let _whole = answer.into_body().collect().await;
            self.kill().await;
            return Err(Failure::of("killed"));
        }
        Ok(answer)
    }

    async fn kill(&self) {
        let crossing = self.crossing.clone();
        tokio::task::spawn_blocking(move || crossing.kill()).await.expect("killing does not panic");
    }

    async fn forward(&self, request: Request<Bytes>) -> Result<Answer, Failure> {
        match &self.upstream {
            Upstream::Kubernetes(client) => {
                let (mut parts, body) = request.into_parts();
                // The client names the server, and takes answers as they come.
                for name in [&HOST, &ACCEPT_ENCODING] {
                    parts.headers.remove(name);
                }
                let request = Request::from_parts(parts, kube::client::Body::from(body.to_vec()));
                let answer = client.send(request).await.map_err(Failure::of)?;
                Ok(relayed(answer.map(|body| body.map_err(Failure::of).boxed_unsync())))
            }
            Upstream::Plain(base) => {
                let (mut parts, body) = request.into_parts();
                let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
                parts.uri = format!("{base}{target}").parse::<Uri>().map_err(Failure::of)?;
                let request = Request::from_parts(parts, Full::new(body));
                let answer = self.plain.request(request).await.map_err(Failure::of)?;
                Ok(relayed(answer.map(|body| body.map_err(Failure::of).boxed_unsync())))
            }
        }
    }
}

/// An answer without what is about the connection it came by.
fn relayed(mut answer: Answer) -> Answer {
    let headers: &mut HeaderMap = answer.headers_mut();
    for name in [&CONNECTION, &TRANSFER_ENCODING] {
        headers.remove(name);
    }
    answer
}

fn unreachable_upstream(error: &Failure) -> Answer {
    let body = Full::from(error.to_string()).map_err(|never: Infallible| match never {}).boxed_unsync();
    let mut answer = Response::new(body);
    *answer.status_mut() = StatusCode::BAD_GATEWAY;
    answer
}
