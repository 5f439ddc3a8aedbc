//! Keeps one connection to every address of an endpoint, like gRPC's `round_robin` policy: resolves the name, connects,
//! and reconnects with backoff. `book/src/decisions/0008-function-channel.md` says why tonic's balancing does not do.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use backoff::{Backoff, Jitter};
use diag::error_chain;
use futures::future::BoxFuture;
use hyper::client::conn::http2::SendRequest;
use rustls::ClientConfig;
use tokio::sync::{Notify, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tonic::body::Body;

use super::connect::{self, ConnectError, Driver};
use crate::endpoint::{Address, Endpoint};
use crate::tls::Reloading;

/// The limit for one name resolution, and for one connection including its handshakes.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a name is resolved while all is well: new replicas appear without any connection breaking.
const RESOLVE_INTERVAL: Duration = Duration::from_secs(30);
/// Short, because a caller that waits for a function also waits for the next attempt, and a refused connection is cheap.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(250));
/// A connection that lasted this long resets the backoff; a server that accepts connections only to drop them is not
/// flooded.
const STABLE: Duration = Duration::from_secs(1);

/// The open connections, and why there are none.
#[derive(Clone, Default)]
pub(super) struct Connectivity {
    pub(super) ready: Vec<Connection>,
    pub(super) failure: Option<TransientFailure>,
}

#[derive(Clone)]
pub(super) struct Connection {
    address: Address,
    pub(super) sender: SendRequest<Body>,
    retired: Arc<Notify>,
}

/// Every attempt to connect has failed for a while.
#[derive(Clone)]
pub(super) struct TransientFailure {
    pub(super) since: Instant,
    pub(super) cause: String,
}

/// Resolves an endpoint to its current addresses.
pub(super) type Resolve = Box<dyn Fn() -> BoxFuture<'static, io::Result<Vec<Address>>> + Send + Sync>;

impl Connection {
    /// Takes the connection out of use and opens another one in its place.
    pub(super) fn retire(&self) {
        self.retired.notify_one();
    }
}

/// What the tasks of one channel share: one that resolves the name, and one per address.
pub(super) struct Subchannels {
    pub(super) endpoint: Endpoint,
    pub(super) tls: Option<Arc<Reloading<ClientConfig>>>,
    pub(super) connectivity: watch::Sender<Connectivity>,
    /// An address failed, so the name may have moved.
    pub(super) resolve_again: Notify,
}

/// Runs until it is aborted.
pub(super) async fn run(subchannels: Subchannels, resolve: Resolve) {
    if subchannels.tls.is_none() && subchannels.endpoint.host().is_some() {
        let endpoint = &subchannels.endpoint;
        tracing::warn!(%endpoint, "no certificates: the function is called in plaintext, on this machine only");
    }
    let subchannels = Arc::new(subchannels);
    let mut tasks = JoinSet::new();
    let mut by_address: BTreeMap<Address, AbortHandle> = BTreeMap::new();
    let mut failures = 0;
    loop {
        // A name that cannot be resolved closes no connection.
        match resolve_addresses(&resolve).await {
            Err(cause) => subchannels.failed(cause),
            Ok(found) => {
                by_address.retain(|address, task| {
                    let is_kept = found.contains(address) && !task.is_finished();
                    if !is_kept {
                        task.abort();
                    }
                    is_kept
                });
                subchannels.close(|connection| !found.contains(&connection.address));
                for address in found {
                    by_address.entry(address).or_insert_with_key(|address| {
                        tasks.spawn(Arc::clone(&subchannels).keep_connected(address.clone()))
                    });
                }
                if timeout(RESOLVE_INTERVAL, subchannels.resolve_again.notified()).await.is_err() {
                    failures = 0;
                    continue;
                }
            }
        }
        failures += 1;
        sleep(BACKOFF.after(failures, Jitter::random())).await;
        while tasks.try_join_next().is_some() {}
    }
}

async fn resolve_addresses(resolve: &Resolve) -> Result<Vec<Address>, String> {
    match timeout(ATTEMPT_TIMEOUT, resolve()).await {
        Ok(Ok(found)) if found.is_empty() => Err("the name has no address".to_owned()),
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(format!("cannot resolve the name: {error}")),
        Err(_) => Err("cannot resolve the name: timed out".to_owned()),
    }
}

impl Subchannels {
    async fn keep_connected(self: Arc<Self>, address: Address) {
        let mut failures = 0;
        loop {
            match self.connect(&address).await {
                Ok((sender, driver)) => {
                    let connected = Instant::now();
                    self.hold(address.clone(), sender, driver).await;
                    if connected.elapsed() >= STABLE {
                        failures = 0;
                    }
                }
                Err(error) => self.failed(format!("{address}: {}", error_chain(&error))),
            }
            self.resolve_again.notify_one();
            failures += 1;
            sleep(BACKOFF.after(failures, Jitter::random())).await;
        }
    }

    async fn connect(&self, address: &Address) -> Result<(SendRequest<Body>, Driver), ConnectError> {
        let tls = match (self.endpoint.host(), &self.tls) {
            (Some(host), Some(tls)) => Some((tls.current(), host)),
            (Some(_), None) if !address.is_local() => return Err(ConnectError::Insecure),
            _ => None,
        };
        let timed_out = ConnectError::TimedOut { seconds: ATTEMPT_TIMEOUT.as_secs() };
        timeout(ATTEMPT_TIMEOUT, connect::connect(address, tls)).await.unwrap_or(Err(timed_out))
    }

    /// Offers a connection to callers until it ends or is retired.
    async fn hold(&self, address: Address, sender: SendRequest<Body>, driver: Driver) {
        // A task of its own, because calls in flight outlive a retired connection; it ends with the last of them.
        let ended = tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(error = &error as &dyn Error, "a connection to a function broke");
            }
        });
        let connection = Connection { address, sender, retired: Arc::default() };
        let retired = Arc::clone(&connection.retired);
        self.connectivity.send_modify(|connectivity| {
            connectivity.ready.push(connection);
            connectivity.failure = None;
        });
        tokio::select! {
            _ = ended => {}
            () = retired.notified() => {}
        }
        self.close(|connection| Arc::ptr_eq(&connection.retired, &retired));
    }

    fn close(&self, is_closed: impl Fn(&Connection) -> bool) {
        self.connectivity.send_modify(|connectivity| connectivity.ready.retain(|one| !is_closed(one)));
    }

    fn failed(&self, cause: String) {
        tracing::debug!(endpoint = %self.endpoint, %cause, "cannot reach a function");
        self.connectivity.send_if_modified(|connectivity| {
            if !connectivity.ready.is_empty() {
                return false;
            }
            let since = connectivity.failure.as_ref().map_or_else(Instant::now, |failure| failure.since);
            connectivity.failure = Some(TransientFailure { since, cause });
            true
        });
    }
}
