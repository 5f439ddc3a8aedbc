//! Runs an operator from start to stop: checks the cluster, waits for the lease, runs controllers, releases the lease.
//!
//! ```text
//! listen ─▶ connect ─▶ definitions ─▶ ready ─▶ lease ─▶ controllers ─▶ stop ─▶ lease released
//!                                                ▲           │
//!                                                └── lost ───┘  (controllers stop first)
//! ```
//!
//! While another engine for the same objects runs, the controllers of that half wait (`run/half.rs`). An operator without leader
//! election, which a person has started by hand, ends with an error instead.

mod error;
mod half;
mod term;

use std::time::Duration;

use backoff::random;
use cluster::{Environment, Session};
use manifest::Namespace;
use oraclecloud::Catalogue;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::install;
use crate::options::Options;
use crate::rivals;
use crate::runtime::events::Events;
use crate::runtime::health::{self, Pages, Readiness};
use crate::runtime::leadership::Leadership;
use crate::runtime::lease::{Candidate, Lost};
use crate::runtime::metrics::Metrics;

pub use error::Error;
pub use term::Context;

/// How the operator appears in the API server's audit log.
pub const USER_AGENT: &str = concat!("plimsoll-operator/", env!("CARGO_PKG_VERSION"));
/// How long controllers may take to stop.
const GRACE: Duration = Duration::from_secs(25);
/// The controllers must have stopped this long before another copy may take a lost lease.
const MARGIN: Duration = Duration::from_secs(1);
/// How long pending Events may take to be delivered at the end.
const LAST_EVENTS: Duration = Duration::from_secs(5);

/// Runs an operator until `stop`, and lets running reconciles end.
pub async fn run(options: Options, stop: CancellationToken) -> Result<(), Error> {
    let metrics = Metrics::new();
    let readiness = Readiness::not_yet("the cluster has not answered yet");
    // Dropped, and so stopped, when this function returns.
    let mut servers = JoinSet::new();
    for (address, purpose) in [(options.metrics_address, "metrics"), (options.health_address, "health")] {
        let Some(address) = address else { continue };
        // One address for both is served once.
        if purpose == "health" && address.port() != 0 && options.metrics_address == Some(address) {
            continue;
        }
        let listener = health::listen(address, purpose).await?;
        let address = listener.local_addr().unwrap_or(address);
        tracing::info!(%address, purpose, "listening");
        let metrics = (purpose == "metrics").then(|| metrics.clone());
        let pages = Pages { readiness: readiness.clone(), metrics };
        servers.spawn(health::serve(listener, pages, stop.clone()));
    }

    let environment = Environment::of_process();
    let session = Session::connect(&options.connection, &environment, USER_AGENT)
        .map_err(|error| Error::Connect(Box::new(error)))?;
    tokio::select! {
        prepared = prepare(&session, &options, options.elects(&environment)) => prepared?,
        () = stop.cancelled() => return Ok(()),
    }
    readiness.set(None);
    tracing::info!(controllers = ?options.controllers, "the operator is ready");

    let identity = identity();
    let events = Events::start(session.client().clone(), identity.clone(), metrics.clone());
    let namespace =
        options.namespace.clone().or_else(|| Namespace::new(session.client().default_namespace()));
    let leadership = Leadership::default();
    let candidate = options.elects(&environment).then(|| Candidate {
        session: session.clone(),
        namespace: namespace.unwrap_or_else(|| Namespace::new("default").expect("`default` is a valid name")),
        name: options.lease_name.clone().unwrap_or_else(|| options.shard.lease_name()),
        identity,
        duration: options.lease_duration,
        leadership: leadership.clone(),
        metrics: metrics.clone(),
    });
    let context = Context::new(session, events.clone(), metrics, options);
    let context = Context { readiness: readiness.clone(), leadership, ..context };
    let outcome = match candidate {
        Some(candidate) => run_when_leading(&candidate, &context, &stop).await,
        None => run_alone(&context, &stop).await,
    };
    readiness.set(Some("the operator is stopping"));
    events.finish(LAST_EVENTS).await;
    tracing::info!("the operator has stopped");
    outcome
}

/// Checks and installs what controllers need.
async fn prepare(session: &Session, options: &Options, waits_for_rivals: bool) -> Result<(), Error> {
    session.resources().await?;
    if !options.take_over {
        let rival = rivals::find(session, &options.controllers).await?;
        if let Some(rival) = rival.filter(|_| !waits_for_rivals) {
            return Err(Error::Rival(rival));
        }
    }
    if options.install_crds {
        let kinds = Catalogue::standard().and(&options.kinds);
        let installed = install::install(session, &options.controllers, &kinds).await?;
        tracing::info!(definitions = installed.len(), "installed custom resource definitions");
    }
    Ok(())
}

/// Runs controllers until `stop`, without leader election.
async fn run_alone(context: &Context, stop: &CancellationToken) -> Result<(), Error> {
    // Not a child of `stop`: controllers that stop because of it would seem to have stopped on their own.
    let mut term = term::begin(context, &CancellationToken::new());
    let outcome = tokio::select! {
        ended = term.ended() => Err(ended),
        () = stop.cancelled() => Ok(()),
    };
    term.end(Instant::now() + GRACE).await;
    outcome
}

/// Runs controllers while this copy holds the lease, until `stop`.
async fn run_when_leading(
    candidate: &Candidate,
    context: &Context,
    stop: &CancellationToken,
) -> Result<(), Error> {
    loop {
        let mut lease = tokio::select! {
            lease = candidate.acquire() => lease,
            () = stop.cancelled() => return Ok(()),
        };
        tracing::info!(
            lease = candidate.name,
            identity = candidate.identity,
            "acquired the lease; starting controllers"
        );
        // Not a child of `stop`: the lease is renewed until they have stopped.
        let mut term = term::begin(context, &CancellationToken::new());
        let outcome = tokio::select! {
            ended = term.ended() => Some(Err(ended)),
            () = stop.cancelled() => Some(Ok(())),
            Lost { why, until } = lease.keep() => {
                tracing::warn!(why, "lost the lease; stopping controllers");
                term.end(until.checked_sub(MARGIN).unwrap_or(until)).await;
                None
            }
        };
        let Some(outcome) = outcome else { continue };
        tokio::select! {
            () = term.end(Instant::now() + GRACE) => {}
            // Dropping `term` aborts the controllers.
            _ = lease.keep() => {}
        }
        lease.release().await;
        return outcome;
    }
}

/// A name that is unique among copies and among earlier runs of this one.
fn identity() -> String {
    format!("{}_{:016x}", host(), random())
}

#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
