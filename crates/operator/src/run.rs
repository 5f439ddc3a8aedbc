//! Runs an operator from its start to its end: looks around, waits for its turn, runs controllers, hands over.
//!
//! ```text
//! listen ─▶ connect ─▶ rivals? ─▶ definitions ─▶ ready ─▶ lease ─▶ controllers ─▶ stop ─▶ lease given back
//!                                                           ▲           │
//!                                                           └── lost ───┘  (controllers ended first)
//! ```

mod error;
mod term;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use cluster::{Environment, Session};
use manifest::Namespace;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::events::Events;
use crate::health::{self, Pages, Readiness};
use crate::install;
use crate::lease::{Candidate, Lost};
use crate::metrics::Metrics;
use crate::options::Options;
use crate::rivals;

pub use error::Error;
pub use term::Surroundings;

/// How the API server's audit log knows us.
pub const USER_AGENT: &str = concat!("plimsoll-operator/", env!("CARGO_PKG_VERSION"));
/// How long controllers may take to end when they are asked to.
const GRACE: Duration = Duration::from_secs(25);
/// What is kept back of the time in which a lost lease is still nobody else's.
const MARGIN: Duration = Duration::from_secs(1);
/// How long Events that wait may take to be delivered at the end.
const LAST_EVENTS: Duration = Duration::from_secs(5);

/// Runs an operator until `stop`, and until what it was doing then has ended.
pub async fn run(options: Options, stop: CancellationToken) -> Result<(), Error> {
    let metrics = Metrics::new();
    let readiness = Readiness::not_yet("the cluster has not answered yet");
    let pages = Pages { readiness: readiness.clone(), metrics: metrics.clone() };
    // The servers end with this function, however it ends.
    let mut servers = JoinSet::new();
    for (address, purpose) in [(options.metrics_address, "metrics"), (options.health_address, "health")] {
        let Some(address) = address else { continue };
        // One port for both, if asked for, is served once.
        if purpose == "health" && address.port() != 0 && options.metrics_address == Some(address) {
            continue;
        }
        let listener = health::listen(address, purpose).await?;
        let address = listener.local_addr().unwrap_or(address);
        tracing::info!(%address, purpose, "listening");
        servers.spawn(health::serve(listener, pages.clone(), stop.clone()));
    }

    let environment = Environment::of_process();
    let session = Session::connect(&options.connection, &environment, USER_AGENT)
        .map_err(|error| Error::Connect(Box::new(error)))?;
    tokio::select! {
        prepared = prepare(&session, &options) => prepared?,
        () = stop.cancelled() => return Ok(()),
    }
    readiness.set(None);
    tracing::info!(controllers = ?options.controllers, "the operator is ready");

    let identity = identity();
    let events = Events::start(session.client().clone(), identity.clone(), metrics.clone());
    let namespace =
        options.namespace.clone().or_else(|| Namespace::new(session.client().default_namespace()));
    let candidate = options.elects(&environment).then(|| Candidate {
        session: session.clone(),
        namespace: namespace.unwrap_or_else(|| Namespace::new("default").expect("default is a name")),
        identity,
        duration: options.lease_duration,
    });
    let around = Surroundings { session, events: events.clone(), metrics, options: Arc::new(options) };
    let outcome = match candidate {
        Some(candidate) => take_turns(&candidate, &around, &stop).await,
        None => alone(&around, &stop).await,
    };
    readiness.set(Some("the operator is ending"));
    events.finish(LAST_EVENTS).await;
    tracing::info!("the operator has ended");
    outcome
}

/// Everything that must be so before controllers may run.
async fn prepare(session: &Session, options: &Options) -> Result<(), Error> {
    session.resources().await?;
    if !options.take_over
        && let Some(rival) = rivals::find(session, &options.controllers).await?
    {
        return Err(Error::Rival(rival));
    }
    if options.install_crds {
        let installed = install::install(session, &options.controllers).await?;
        tracing::info!(definitions = installed.len(), "the definitions of our kinds are installed");
    }
    Ok(())
}

/// Runs controllers until `stop`, since nobody else does.
async fn alone(around: &Surroundings, stop: &CancellationToken) -> Result<(), Error> {
    // Not a child of `stop`, or controllers that end because of it would seem to end by themselves.
    let mut term = term::begin(around, &CancellationToken::new());
    let outcome = tokio::select! {
        ended = term.ended() => Err(ended),
        () = stop.cancelled() => Ok(()),
    };
    term.end(Instant::now() + GRACE).await;
    outcome
}

/// Runs controllers whenever the lease is ours, until `stop`.
async fn take_turns(
    candidate: &Candidate,
    around: &Surroundings,
    stop: &CancellationToken,
) -> Result<(), Error> {
    loop {
        let mut lease = tokio::select! {
            lease = candidate.win() => lease,
            () = stop.cancelled() => return Ok(()),
        };
        tracing::info!(identity = candidate.identity, "the lease is ours; controllers start");
        // Not a child of `stop`: the lease is renewed until they have ended.
        let mut term = term::begin(around, &CancellationToken::new());
        let outcome = tokio::select! {
            ended = term.ended() => Some(Err(ended)),
            () = stop.cancelled() => Some(Ok(())),
            Lost { why, until } = lease.keep() => {
                tracing::warn!(why, "the lease is lost; controllers end");
                term.end(until.checked_sub(MARGIN).unwrap_or(until)).await;
                None
            }
        };
        let Some(outcome) = outcome else { continue };
        tokio::select! {
            () = term.end(Instant::now() + GRACE) => {}
            // The controllers are dropped with `term`, at once.
            _ = lease.keep() => {}
        }
        lease.release().await;
        return outcome;
    }
}

/// A name that no other copy has, nor an earlier run of this one.
fn identity() -> String {
    let uname = rustix::system::uname();
    let host = uname.nodename().to_string_lossy();
    format!("{host}_{:016x}", RandomState::new().build_hasher().finish())
}
