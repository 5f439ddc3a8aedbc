//! Calls one function: in its turn, within its deadline, over the next open connection, in the version it knows.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use composition::protocol::RunResponse;
use composition::{RunError, RunErrorClass};
use futures::{FutureExt, StreamExt as _};
use http::Uri;
use http::uri::PathAndQuery;
use http_body_util::{BodyExt as _, BodyStream, StreamBody};
use hyper::body::Incoming;
use prost::Message;
use rustls::ClientConfig;
use tokio::sync::{Mutex, Notify, Semaphore, SemaphorePermit, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::{Code, Request, Status};

use super::codec::RawCodec;
use super::memory::{Memory, NoMemory, Reservation};
use super::status::SendError;
use super::subchannels::{self, Connection, Connectivity, Resolve, Subchannels};
use super::{Options, status};
use crate::endpoint::{Address, Endpoint};
use crate::r#gen::v1 as pb;
use crate::tls::Reloading;
use crate::wire::read_response;

const V1: &str = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";
const V1BETA1: &str = "/apiextensions.fn.proto.v1beta1.FunctionRunnerService/RunFunction";

/// A channel unused for this long is closed when another function is added.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// How often a request that never left this process, because its connection was closing, is sent over another one.
const MAX_RESENDS: usize = 3;

pub(super) struct Channel {
    /// The endpoint as configured.
    target: String,
    endpoint: Endpoint,
    options: Options,
    permits: Semaphore,
    /// Held by the one call that waits for a permit without going first; the others wait for this.
    gate: Mutex<()>,
    /// The memory for the responses of this function, and of all.
    memory: (Memory, Memory),
    /// The calls that wait for a permit.
    waiting: AtomicUsize,
    next: AtomicUsize,
    /// The function last turned out to serve only v1beta1.
    is_beta: AtomicBool,
    last_used: std::sync::Mutex<Instant>,
    connectivity: watch::Receiver<Connectivity>,
    subchannels: AbortHandle,
}

impl Channel {
    pub(super) fn new(
        target: &str,
        endpoint: Endpoint,
        tls: Option<Arc<Reloading<ClientConfig>>>,
        options: &Options,
        memory: &Memory,
    ) -> Self {
        let resolved = endpoint.clone();
        let fixed = options.addresses.get(&endpoint.authority()).copied();
        let resolve = move || {
            let endpoint = resolved.clone();
            async move {
                match fixed {
                    Some(address) => Ok(vec![Address::Tcp(address)]),
                    None => endpoint.resolve().await,
                }
            }
            .boxed()
        };
        Self::with_resolver(Box::new(resolve), target, endpoint, tls, options, memory)
    }

    fn with_resolver(
        resolve: Resolve,
        target: &str,
        endpoint: Endpoint,
        tls: Option<Arc<Reloading<ClientConfig>>>,
        options: &Options,
        memory: &Memory,
    ) -> Self {
        // A limit of zero would block every call.
        let options = Options { concurrency: options.concurrency.max(1), ..options.clone() };
        let (sender, connectivity) = watch::channel(Connectivity::default());
        let subchannels = Subchannels {
            endpoint: endpoint.clone(),
            tls,
            connectivity: sender,
            resolve_again: Notify::new(),
        };
        Self {
            target: target.to_owned(),
            endpoint,
            permits: Semaphore::new(options.concurrency),
            gate: Mutex::default(),
            memory: (memory.share(), memory.clone()),
            waiting: AtomicUsize::new(0),
            options,
            next: AtomicUsize::new(0),
            is_beta: AtomicBool::new(false),
            last_used: std::sync::Mutex::new(Instant::now()),
            connectivity,
            subchannels: tokio::spawn(subchannels::run(subchannels, resolve)).abort_handle(),
        }
    }

    pub(super) fn target(&self) -> &str {
        &self.target
    }

    pub(super) fn is_idle(&self) -> bool {
        let last_used = *self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
        last_used.elapsed() > IDLE_TIMEOUT && self.permits.available_permits() == self.options.concurrency
    }

    /// Whether connections are still maintained. They are not once the runtime they were opened on has shut down, which
    /// may happen before its callers end.
    pub(super) fn is_alive(&self) -> bool {
        !self.subchannels.is_finished()
    }

    /// Waits for an open connection.
    pub(super) async fn connected(&self) -> Result<(), RunError> {
        match self.connectivity.clone().wait_for(|connectivity| !connectivity.ready.is_empty()).await {
            Ok(_) => Ok(()),
            Err(_) => Err(status::shut_down(&self.endpoint)),
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits for a turn to call, which the timeout of the call does not include. How many wait, and for how long, has
    /// limits of its own. A call that goes first waits behind calls that are under way, and at most one other.
    pub(super) async fn turn(&self, goes_first: bool) -> Result<Turn<'_>, RunError> {
        if let Ok(permit) = self.permits.try_acquire() {
            return Ok(Turn(permit));
        }
        let Options { concurrency, max_waiting, max_wait, .. } = self.options;
        let waiting = Waiting::new(&self.waiting);
        if self.waiting() > max_waiting {
            return Err(status::too_many_waiting(concurrency, max_waiting));
        }
        let permit = async {
            let _gate = if goes_first { None } else { Some(self.gate.lock().await) };
            self.permits.acquire().await
        };
        let turn = timeout(max_wait, permit).await;
        let others = self.waiting().saturating_sub(1);
        drop(waiting);
        match turn {
            Ok(permit) => Ok(Turn(permit.expect("the semaphore is never closed"))),
            Err(_) => Err(status::no_turn(max_wait, concurrency, others)),
        }
    }

    /// Waits until there is memory for a request of about `bytes`, and for a response of the same size.
    pub(super) async fn reserve(&self, bytes: usize, reservation: &Reservation) -> Result<(), RunError> {
        let (share, all) = &self.memory;
        match timeout(self.options.max_wait, reservation.reserve(bytes, share, all)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(NoMemory)) | Err(_) => Err(self.no_memory()),
        }
    }

    /// Sends an encoded request and reads the response, for which memory is reserved.
    pub(super) async fn call(
        &self,
        _turn: Turn<'_>,
        request: Bytes,
        reservation: &Reservation,
    ) -> Result<RunResponse, RunError> {
        let Options { timeout, max_message, .. } = self.options;
        if request.len() > max_message {
            return Err(status::request_too_large(request.len(), max_message));
        }
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let bytes = self.exchange(request, Instant::now() + timeout, reservation).await?;
        let unreadable = |what: String| RunError::new(RunErrorClass::BadAnswer, status::unreadable(&what));
        let response = pb::RunFunctionResponse::decode(bytes)
            .map_err(|error| unreadable(format!("not a RunFunctionResponse ({error})")))?;
        let response = read_response(response).map_err(|error| unreadable(error.to_string()))?;
        let (share, all) = &self.memory;
        reservation.keep(&response, share, all).await.map_err(|NoMemory| self.no_memory())?;
        Ok(response)
    }

    fn no_memory(&self) -> RunError {
        let (share, all) = &self.memory;
        status::no_memory(share.size(), all.size())
    }

    async fn exchange(
        &self,
        request: Bytes,
        deadline: Instant,
        reservation: &Reservation,
    ) -> Result<Bytes, RunError> {
        let mut resends = 0;
        loop {
            let Ok(connection) = timeout_at(deadline, self.connection()).await else {
                return Err(status::no_connection(&self.endpoint, self.options.timeout));
            };
            let connection = connection?;
            match self.send(&connection, request.clone(), deadline, reservation).await {
                Err(failed) if status::lacks_memory(&failed) => return Err(self.no_memory()),
                Ok(response) => return Ok(response),
                Err(failed) if status::was_never_sent(&failed) && resends < MAX_RESENDS => {
                    resends += 1;
                    connection.retire();
                }
                Err(failed) => {
                    if failed.code() == Code::DeadlineExceeded || status::is_lost(&failed) {
                        // The server may be gone without closing the connection; spare the next call the same wait.
                        connection.retire();
                    }
                    return Err(status::to_run_error(&failed, &self.options));
                }
            }
        }
    }

    /// Tries the version the function last served, then the other one.
    async fn send(
        &self,
        connection: &Connection,
        request: Bytes,
        deadline: Instant,
        reservation: &Reservation,
    ) -> Result<Bytes, Status> {
        let is_unimplemented = |response: &Result<Bytes, Status>| {
            response.as_ref().is_err_and(|status| status.code() == Code::Unimplemented)
        };
        let is_beta = self.is_beta.load(Ordering::Relaxed);
        let (first, second) = if is_beta { (V1BETA1, V1) } else { (V1, V1BETA1) };
        let response = self.send_to(first, connection, request.clone(), deadline, reservation).await;
        if !is_unimplemented(&response) {
            return response;
        }
        let response = self.send_to(second, connection, request, deadline, reservation).await;
        if !is_unimplemented(&response) {
            self.is_beta.store(!is_beta, Ordering::Relaxed);
        }
        response
    }

    async fn send_to(
        &self,
        method: &'static str,
        connection: &Connection,
        request: Bytes,
        deadline: Instant,
        reservation: &Reservation,
    ) -> Result<Bytes, Status> {
        let is_waiting = AtomicBool::new(false);
        let service = tower::service_fn(|request| {
            let (mut sender, is_waiting) = (connection.sender.clone(), &is_waiting);
            async move {
                sender.ready().await.map_err(SendError::Transport)?;
                let response = sender.send_request(request).await.map_err(SendError::Transport)?;
                let response = self.when_there_is_memory(response, reservation, is_waiting).await;
                response.map_err(|NoMemory| SendError::NoMemory)
            }
        });
        let origin = Uri::builder().scheme("http").authority(self.endpoint.authority()).path_and_query("/");
        let origin = origin.build().expect("an endpoint is a host and a port");
        let mut grpc = Grpc::with_origin(service, origin)
            .max_decoding_message_size(self.options.max_message)
            .max_encoding_message_size(self.options.max_message);
        let left = deadline.saturating_duration_since(Instant::now());
        let mut request = Request::new(request);
        request.set_timeout(left);
        let call = grpc.unary(request, PathAndQuery::from_static(method), RawCodec);
        match timeout(left, call).await {
            Ok(response) => response.map(tonic::Response::into_inner),
            Err(_) if is_waiting.into_inner() => Err(status::without_memory()),
            Err(_) => Err(Status::deadline_exceeded("context deadline exceeded")),
        }
    }

    /// The response as soon as there is memory for the message in it. What the function sends until then stays in its own
    /// memory, but for the windows of its connection.
    async fn when_there_is_memory(
        &self,
        response: http::Response<Incoming>,
        reservation: &Reservation,
        is_waiting: &AtomicBool,
    ) -> Result<http::Response<Body>, NoMemory> {
        let (parts, mut body) = response.into_parts();
        let first = body.frame().await;
        let begins_with = first.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
        let length = begins_with.map_or(0, |bytes| message_length(bytes).unwrap_or(self.options.max_message));
        // What is too large is refused without being read.
        if length <= self.options.max_message {
            let (share, all) = &self.memory;
            is_waiting.store(true, Ordering::Relaxed);
            reservation.reserve(length, share, all).await?;
            is_waiting.store(false, Ordering::Relaxed);
        }
        let frames = futures::stream::iter(first).chain(BodyStream::new(body));
        Ok(http::Response::from_parts(parts, Body::new(StreamBody::new(frames))))
    }

    /// The next open connection. Waits for one until the function counts as down.
    async fn connection(&self) -> Result<Connection, RunError> {
        let mut connectivity = self.connectivity.clone();
        loop {
            let (connection, failure) = {
                let current = connectivity.borrow_and_update();
                (self.pick(&current.ready), current.failure.clone())
            };
            if let Some(connection) = connection {
                return Ok(connection);
            }
            let changed = match &failure {
                None => connectivity.changed().await,
                Some(failure) => {
                    let down_at = failure.since + self.options.down_after;
                    match timeout_at(down_at, connectivity.changed()).await {
                        Ok(changed) => changed,
                        Err(_) => return Err(status::unreachable(&self.endpoint, &failure.cause)),
                    }
                }
            };
            if changed.is_err() {
                return Err(status::shut_down(&self.endpoint));
            }
        }
    }

    /// Round robin over the connections that are not closing.
    fn pick(&self, ready: &[Connection]) -> Option<Connection> {
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let mut in_turn = (0..ready.len()).map(|offset| &ready[start.wrapping_add(offset) % ready.len()]);
        in_turn.find(|connection| !connection.sender.is_closed()).cloned()
    }
}

/// The length of the message that begins here, after a byte that says whether it is compressed; `None` if not all of it is
/// there.
fn message_length(bytes: &Bytes) -> Option<usize> {
    let length = u32::from_be_bytes(bytes.get(1..5)?.try_into().ok()?);
    usize::try_from(length).ok()
}

/// The right to make one call.
pub(super) struct Turn<'a>(
    #[expect(dead_code, reason = "it is given back when it is dropped")] SemaphorePermit<'a>,
);

/// Counts a call among those that wait, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.subchannels.abort();
    }
}

#[cfg(test)]
mod tests;
