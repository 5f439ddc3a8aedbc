//! Keeps connections to all addresses of a function: looks the name up, connects, and connects again.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::http2::SendRequest;
use rustls::ClientConfig;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tonic::body::Body;

use super::{Failing, Link, Links, LookUp};
use crate::client::link::{self, Driver, LinkError, causes};
use crate::endpoint::{Address, Endpoint};
use crate::tls::Reloading;

/// How long a look-up or a connection with its handshakes may take.
const ATTEMPT: Duration = Duration::from_secs(5);
/// A name is looked up this often even if all is well: replicas come without a connection breaking.
const LOOK_UP: Duration = Duration::from_secs(30);
/// The pauses between attempts. Whoever waits for a function that is down waits for the next attempt, too, and a refused
/// connection costs next to nothing.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// How long a connection has to last for the next one not to be delayed.
const LASTING: Duration = Duration::from_secs(1);

/// Runs until it is aborted.
pub(super) async fn run(
    look_up: LookUp,
    endpoint: Endpoint,
    tls: Option<Arc<Reloading<ClientConfig>>>,
    links: watch::Sender<Links>,
    mut retired: mpsc::UnboundedReceiver<u64>,
) {
    if tls.is_none() && endpoint.host().is_some() {
        tracing::warn!(%endpoint, "no certificates: the function is called in the clear, on this machine only");
    }
    let (ended, mut over) = mpsc::unbounded_channel();
    let mut upkeep = Upkeep {
        look_up,
        endpoint,
        tls,
        links,
        ended,
        places: BTreeMap::new(),
        tasks: JoinSet::new(),
        due: Instant::now(),
        looking: false,
        pause: FIRST_PAUSE,
        count: 0,
    };
    loop {
        tokio::select! {
            () = sleep_until(upkeep.due) => upkeep.look_up(),
            Some(done) = upkeep.tasks.join_next() => match done {
                Ok(Done::LookedUp(found)) => upkeep.looked_up(found),
                Ok(Done::Attempted(address, made)) => upkeep.attempted(&address, made),
                Err(panicked) => {
                    tracing::error!(error = &panicked as &dyn Error, "connecting to a function panicked");
                    upkeep.looking = false;
                }
            },
            Some(id) = over.recv() => upkeep.lost(id),
            Some(id) = retired.recv() => upkeep.lost(id),
        }
    }
}

struct Upkeep {
    look_up: LookUp,
    endpoint: Endpoint,
    tls: Option<Arc<Reloading<ClientConfig>>>,
    links: watch::Sender<Links>,
    /// Where the ends of connections are reported.
    ended: mpsc::UnboundedSender<u64>,
    /// What is known about each address of the endpoint.
    places: BTreeMap<Address, Place>,
    tasks: JoinSet<Done>,
    /// When the name is looked up next.
    due: Instant,
    looking: bool,
    pause: Duration,
    count: u64,
}

#[derive(Clone, Copy)]
enum Place {
    Connecting,
    Open { id: u64, since: Instant },
    Failed,
}

enum Done {
    LookedUp(Result<Vec<Address>, String>),
    Attempted(Address, Result<(SendRequest<Body>, Driver), String>),
}

impl Upkeep {
    fn look_up(&mut self) {
        self.due = Instant::now() + LOOK_UP;
        if self.looking {
            return;
        }
        self.looking = true;
        let looking = (self.look_up)();
        self.tasks.spawn(async move {
            let found = match timeout(ATTEMPT, looking).await {
                Ok(Ok(found)) if found.is_empty() => Err("the name has no address".to_owned()),
                Ok(Ok(found)) => Ok(found),
                Ok(Err(error)) => Err(format!("the name cannot be looked up: {error}")),
                Err(_) => Err("the name cannot be looked up: no answer".to_owned()),
            };
            Done::LookedUp(found)
        });
    }

    /// Connects to what is not connected yet, and lets go of what the name no longer stands for. A name that cannot be
    /// looked up takes nothing away.
    fn looked_up(&mut self, found: Result<Vec<Address>, String>) {
        self.looking = false;
        let found = match found {
            Ok(found) => found,
            Err(cause) => return self.failed(cause),
        };
        let gone: Vec<Address> = self.places.keys().filter(|place| !found.contains(place)).cloned().collect();
        for address in gone {
            if let Some(Place::Open { id, .. }) = self.places.remove(&address) {
                self.close(id);
            }
        }
        for address in found {
            if matches!(self.places.get(&address), None | Some(Place::Failed)) {
                self.places.insert(address.clone(), Place::Connecting);
                self.attempt(address);
            }
        }
    }

    fn attempt(&mut self, address: Address) {
        let security = match (self.endpoint.host(), &self.tls) {
            (None, _) => Ok(None),
            (Some(_), None) if address.is_local() => Ok(None),
            (Some(_), None) => Err(LinkError::Insecure),
            (Some(host), Some(tls)) => Ok(Some((tls.current(), host.to_owned()))),
        };
        self.tasks.spawn(async move {
            let made = match security {
                Ok(security) => timeout(ATTEMPT, link::connect(&address, security)).await,
                Err(error) => Ok(Err(error)),
            };
            let made = match made {
                Ok(made) => made.map_err(|error| causes(&error)),
                Err(_) => Err(format!("no connection within {} s", ATTEMPT.as_secs())),
            };
            Done::Attempted(address, made)
        });
    }

    fn attempted(&mut self, address: &Address, made: Result<(SendRequest<Body>, Driver), String>) {
        let (sender, driver) = match made {
            Ok(made) => made,
            Err(cause) => {
                // An address that has gone from the name meanwhile is no longer of interest.
                if let Some(place) = self.places.get_mut(address) {
                    *place = Place::Failed;
                    self.failed(format!("{address}: {cause}"));
                }
                return;
            }
        };
        self.count += 1;
        let id = self.count;
        let ended = self.ended.clone();
        // On its own, because calls under way outlive the interest in the connection; it ends with the last of them.
        tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(error = &error as &dyn Error, "a connection to a function broke");
            }
            // Nobody listens once the function is no longer called.
            let _ = ended.send(id);
        });
        if let Some(place) = self.places.get_mut(address) {
            *place = Place::Open { id, since: Instant::now() };
            self.links.send_modify(|links| {
                links.open.push(Link { id, sender });
                links.failing = None;
            });
        }
    }

    fn failed(&mut self, cause: String) {
        tracing::debug!(endpoint = %self.endpoint, %cause, "a function cannot be reached");
        self.retry();
        self.links.send_if_modified(|links| {
            if !links.open.is_empty() {
                return false;
            }
            let since = links.failing.as_ref().map_or_else(Instant::now, |failing| failing.since);
            links.failing = Some(Failing { since, cause });
            true
        });
    }

    /// A connection ended or is not to be used any more: another one takes its place.
    fn lost(&mut self, id: u64) {
        let found = self.places.iter().find_map(|(address, place)| match place {
            Place::Open { id: open, since } if *open == id => Some((address.clone(), *since)),
            _ => None,
        });
        if let Some((address, since)) = found {
            self.places.insert(address, Place::Failed);
            self.close(id);
            if since.elapsed() >= LASTING {
                self.pause = FIRST_PAUSE;
            }
            self.retry();
        }
    }

    /// Looks again soon, and later each time: a server that takes connections only to drop them is not to be flooded.
    fn retry(&mut self) {
        self.due = self.due.min(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    fn close(&self, id: u64) {
        self.links.send_modify(|links| links.open.retain(|link| link.id != id));
    }
}
