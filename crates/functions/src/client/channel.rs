//! The connections to one function: calls take turns over them, and what broke is made again in the background.

mod upkeep;

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use composition::run::RunResponse;
use composition::{RunError, RunErrorClass};
use http::Uri;
use http::uri::PathAndQuery;
use hyper::client::conn::http2::SendRequest;
use prost::Message;
use rustls::ClientConfig;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::{Code, Request, Status};

use super::codec::Raw;
use super::{Options, failure};
use crate::endpoint::{Address, Endpoint};
use crate::r#gen::v1 as pb;
use crate::tls::Reloading;
use crate::wire::read_answer;

/// The method of v1, and its twin for functions from before it.
const V1: &str = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";
const V1_BETA_1: &str = "/apiextensions.fn.proto.v1beta1.FunctionRunnerService/RunFunction";

/// A function nobody has called for this long gives its connections up once another one is added.
const IDLE: Duration = Duration::from_secs(600);

/// How often a request that did not leave this process is sent again: the connection was just closing.
const RESENDS: usize = 3;

/// All connections to a function.
pub(super) struct Channel {
    /// The endpoint as it was written.
    written: String,
    endpoint: Endpoint,
    timeout: Duration,
    concurrency: usize,
    max_message: usize,
    down_after: Duration,
    turns: Semaphore,
    next: AtomicUsize,
    /// The function was last seen to know v1beta1 only.
    is_beta: AtomicBool,
    used: Mutex<Instant>,
    links: watch::Receiver<Links>,
    retire: mpsc::UnboundedSender<u64>,
    upkeep: AbortHandle,
}

/// The connections there are, and since when there were none to be had.
#[derive(Clone, Default)]
struct Links {
    open: Vec<Link>,
    failing: Option<Failing>,
}

/// Finds the addresses of an endpoint, which may change.
type LookUp = Box<dyn Fn() -> Found + Send + Sync>;
type Found = Pin<Box<dyn Future<Output = io::Result<Vec<Address>>> + Send>>;

/// One connection.
#[derive(Clone)]
struct Link {
    id: u64,
    sender: SendRequest<Body>,
}

/// Every attempt to connect has failed for a while.
#[derive(Clone)]
struct Failing {
    since: Instant,
    cause: String,
}

impl Channel {
    pub(super) fn new(
        written: &str,
        endpoint: Endpoint,
        tls: Option<Arc<Reloading<ClientConfig>>>,
        options: &Options,
    ) -> Self {
        let look_up = Box::new({
            let endpoint = endpoint.clone();
            move || -> Found {
                let endpoint = endpoint.clone();
                Box::pin(async move { endpoint.resolve().await })
            }
        });
        Self::looking_up(look_up, written, endpoint, tls, options)
    }

    /// Connections to whatever addresses `look_up` finds.
    fn looking_up(
        look_up: LookUp,
        written: &str,
        endpoint: Endpoint,
        tls: Option<Arc<Reloading<ClientConfig>>>,
        options: &Options,
    ) -> Self {
        let (sender, links) = watch::channel(Links::default());
        let (retire, retired) = mpsc::unbounded_channel();
        // With no call at a time there would be none at all.
        let concurrency = options.concurrency.max(1);
        let running = upkeep::run(look_up, endpoint.clone(), tls, sender, retired);
        let upkeep = tokio::spawn(running).abort_handle();
        Self {
            written: written.to_owned(),
            endpoint,
            timeout: options.timeout,
            concurrency,
            max_message: options.max_message,
            down_after: options.down_after,
            turns: Semaphore::new(concurrency),
            next: AtomicUsize::new(0),
            is_beta: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
            links,
            retire,
            upkeep,
        }
    }

    pub(super) fn written(&self) -> &str {
        &self.written
    }

    pub(super) fn is_idle(&self) -> bool {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.elapsed() > IDLE && self.turns.available_permits() == self.concurrency
    }

    /// Whether connections are still looked after. They are not once the runtime that was to do it has ended, which may be
    /// before those who call do.
    pub(super) fn is_kept(&self) -> bool {
        !self.upkeep.is_finished()
    }

    /// Waits until there is a connection.
    pub(super) async fn connected(&self) -> Result<(), RunError> {
        match self.links.clone().wait_for(|links| !links.open.is_empty()).await {
            Ok(_) => Ok(()),
            Err(_) => Err(failure::given_up(&self.endpoint)),
        }
    }

    /// Sends an encoded request and reads the answer.
    pub(super) async fn call(&self, request: Bytes) -> Result<RunResponse, RunError> {
        if request.len() > self.max_message {
            return Err(failure::request_too_large(request.len(), self.max_message));
        }
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let deadline = Instant::now() + self.timeout;
        let Ok(turn) = timeout_at(deadline, self.turns.acquire()).await else {
            return Err(failure::no_turn(self.timeout, self.concurrency));
        };
        let _turn = turn.expect("the semaphore is never closed");
        let bytes = self.exchange(request, deadline).await?;
        let bad = |what: String| RunError::new(RunErrorClass::BadAnswer, failure::bad_answer(&what));
        let answer = pb::RunFunctionResponse::decode(bytes)
            .map_err(|error| bad(format!("it is no RunFunctionResponse ({error})")))?;
        read_answer(answer).map_err(|fault| bad(fault.to_string()))
    }

    /// Sends a request over the next connection; one that was never sent because the connection closed goes over another.
    async fn exchange(&self, request: Bytes, deadline: Instant) -> Result<Bytes, RunError> {
        let mut resends = 0;
        loop {
            let Ok(link) = timeout_at(deadline, self.link()).await else {
                return Err(failure::no_connection(&self.endpoint, self.timeout));
            };
            let link = link?;
            match self.send(&link, request.clone(), deadline).await {
                Ok(answer) => return Ok(answer),
                Err(status) if failure::was_never_sent(&status) && resends < RESENDS => {
                    resends += 1;
                    self.drop_link(&link);
                }
                Err(status) => {
                    if failure::is_timeout(&status) || failure::is_lost(&status) {
                        // The other end may be gone without a word; the next call is not to find that out again.
                        self.drop_link(&link);
                    }
                    return Err(failure::classify(&status, self.timeout, self.max_message));
                }
            }
        }
    }

    /// Speaks the version that the function was last seen to know, and the other one if it no longer does.
    async fn send(&self, link: &Link, request: Bytes, deadline: Instant) -> Result<Bytes, Status> {
        let is_unknown = |answered: &Result<Bytes, Status>| {
            answered.as_ref().is_err_and(|status| status.code() == Code::Unimplemented)
        };
        let is_beta = self.is_beta.load(Ordering::Relaxed);
        let (first, second) = if is_beta { (V1_BETA_1, V1) } else { (V1, V1_BETA_1) };
        let answered = self.send_to(first, link, request.clone(), deadline).await;
        if !is_unknown(&answered) {
            return answered;
        }
        let answered = self.send_to(second, link, request, deadline).await;
        if !is_unknown(&answered) {
            self.is_beta.store(!is_beta, Ordering::Relaxed);
        }
        answered
    }

    async fn send_to(
        &self,
        method: &'static str,
        link: &Link,
        request: Bytes,
        deadline: Instant,
    ) -> Result<Bytes, Status> {
        let sender = link.sender.clone();
        let service = tower::service_fn(move |request| {
            let mut sender = sender.clone();
            async move {
                sender.ready().await?;
                sender.send_request(request).await
            }
        });
        let origin = Uri::builder().scheme("http").authority(self.endpoint.authority()).path_and_query("/");
        let origin = origin.build().expect("an endpoint was read as host and port");
        let mut grpc = Grpc::with_origin(service, origin)
            .max_decoding_message_size(self.max_message)
            .max_encoding_message_size(self.max_message);
        let left = deadline.saturating_duration_since(Instant::now());
        let mut request = Request::new(request);
        request.set_timeout(left);
        let call = grpc.unary(request, PathAndQuery::from_static(method), Raw);
        match timeout(left, call).await {
            Ok(answered) => answered.map(tonic::Response::into_inner),
            Err(_) => Err(failure::timeout()),
        }
    }

    /// The next open connection. Waits for one as long as there is hope.
    async fn link(&self) -> Result<Link, RunError> {
        let mut links = self.links.clone();
        loop {
            let (link, failing) = {
                let links = links.borrow_and_update();
                (self.pick(&links.open), links.failing.clone())
            };
            if let Some(link) = link {
                return Ok(link);
            }
            let changed = match &failing {
                None => links.changed().await,
                Some(failing) => match timeout_at(failing.since + self.down_after, links.changed()).await {
                    Ok(changed) => changed,
                    Err(_) => return Err(failure::down(&self.endpoint, &failing.cause)),
                },
            };
            if changed.is_err() {
                return Err(failure::given_up(&self.endpoint));
            }
        }
    }

    fn pick(&self, open: &[Link]) -> Option<Link> {
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let turns = (0..open.len()).map(|offset| &open[start.wrapping_add(offset) % open.len()]);
        turns.into_iter().find(|link| !link.sender.is_closed()).cloned()
    }

    fn drop_link(&self, link: &Link) {
        // Without upkeep there is nobody to tell, and no use in it.
        let _ = self.retire.send(link.id);
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.upkeep.abort();
    }
}

#[cfg(test)]
mod tests;
