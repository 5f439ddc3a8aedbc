//! A proxy that kills the program that uses it, at a chosen request.
//!
//! ```text
//! program ──▶ KillProxy ──▶ server     KillSwitch::arm(nth, BeforeForwarding | BeforeRelaying)
//!    ▲            │
//!    └──SIGKILL───┘  at the n-th request, before the server gets it or before the program gets the response
//! ```

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{Body, Forwarder, ProxyError, Upstream, serve};

/// When the program is killed, relative to the request that triggers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KillPoint {
    /// The server never gets the request.
    BeforeForwarding,
    /// The server has carried out the request, and the program never learns of it.
    BeforeRelaying,
}

impl KillPoint {
    pub const ALL: [Self; 2] = [Self::BeforeForwarding, Self::BeforeRelaying];
}

/// Counts the program's requests through all its proxies, and kills it at one of them. Clones share the count.
#[derive(Clone, Default)]
pub struct KillSwitch(Arc<Mutex<SwitchState>>);

#[derive(Default)]
struct SwitchState {
    requests: Vec<String>,
    uncounted: Vec<String>,
    armed: Option<(usize, KillPoint)>,
    target: Option<Arc<Mutex<Child>>>,
    killed_at: Option<String>,
}

impl KillSwitch {
    /// Counts from zero again, and disarms the switch.
    pub fn reset(&self) {
        let mut state = self.state();
        state.requests.clear();
        state.armed = None;
        state.killed_at = None;
    }

    /// Kills the program at the `nth` request, counted from 1.
    pub fn arm(&self, nth: usize, point: KillPoint) {
        self.state().armed = Some((nth, point));
    }

    pub fn set_target(&self, program: Arc<Mutex<Child>>) {
        self.state().target = Some(program);
    }

    /// The requests counted so far.
    pub fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    /// The requests so far that did not count.
    pub fn uncounted_requests(&self) -> Vec<String> {
        self.state().uncounted.clone()
    }

    /// The request at which the program was killed.
    pub fn killed_at(&self) -> Option<String> {
        self.state().killed_at.clone()
    }

    /// Counts a request; returns when to kill the program if this is the one.
    fn count(&self, request: String) -> Option<KillPoint> {
        let mut state = self.state();
        state.requests.push(request);
        let (nth, point) = state.armed?;
        (state.requests.len() == nth && state.killed_at.is_none()).then_some(point)
    }

    /// Kills the program and waits until it is dead.
    fn kill(&self) {
        let (target, last) = {
            let state = self.state();
            (state.target.clone(), state.requests.last().cloned())
        };
        if let Some(target) = target {
            let mut target = target.lock().unwrap_or_else(PoisonError::into_inner);
            // It may have exited by itself.
            let _ = target.kill();
            let _ = target.wait();
        }
        self.state().killed_at = last;
    }

    fn state(&self) -> MutexGuard<'_, SwitchState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A proxy on loopback. Dropping it stops it and closes all connections.
pub struct KillProxy {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl KillProxy {
    /// Starts a proxy for `upstream`. `switch` counts the requests that `counts` accepts, given as `GET /path?query`.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub async fn start(upstream: Upstream, switch: KillSwitch, counts: fn(&str) -> bool) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has free ports");
        let address = listener.local_addr().expect("a listener has an address");
        let handler = Arc::new(Handler { forwarder: Forwarder::new(upstream), switch, counts });
        let service = service_fn(move |request| {
            let handler = Arc::clone(&handler);
            async move { handler.respond(request).await }
        });
        let task = tokio::spawn(async move { serve(&listener, service).await });
        Self { address, task }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for KillProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Handler {
    forwarder: Forwarder,
    switch: KillSwitch,
    counts: fn(&str) -> bool,
}

impl Handler {
    async fn respond(&self, request: Request<Incoming>) -> Result<Response<Body>, ProxyError> {
        let line = format!("{} {}", request.method(), request.uri());
        let point = if (self.counts)(&line) {
            self.switch.count(line)
        } else {
            self.switch.state().uncounted.push(line);
            None
        };
        if point == Some(KillPoint::BeforeForwarding) {
            return self.kill().await;
        }
        let response = self.forwarder.forward(request).await.unwrap_or_else(|error| bad_gateway(&error));
        if point == Some(KillPoint::BeforeRelaying) {
            // The server is done only when the response is complete.
            let _complete = response.into_body().collect().await;
            return self.kill().await;
        }
        Ok(response)
    }

    async fn kill(&self) -> Result<Response<Body>, ProxyError> {
        let switch = self.switch.clone();
        tokio::task::spawn_blocking(move || switch.kill()).await.expect("killing does not panic");
        Err(ProxyError::new("killed"))
    }
}

fn bad_gateway(error: &ProxyError) -> Response<Body> {
    let body = Full::from(error.to_string()).map_err(|never: Infallible| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}
