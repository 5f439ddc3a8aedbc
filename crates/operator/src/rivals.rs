//! Other engines for the same objects. Two would undo each other's work, so the operator checks before its controllers start and
//! as long as they run.

use std::collections::HashMap;
use std::time::Duration;

use cluster::{Error, Selection, Session};
use diag::error_chain;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use tokio::time::Instant;

use crate::options::Half;
use crate::runtime;

/// How often to check.
const INTERVAL: Duration = Duration::from_secs(5);

/// An engine, and the lease it holds while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    name: &'static str,
    lease: &'static str,
}

/// Another engine that is running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    pub engine: &'static str,
    /// `namespace/name`
    pub lease: String,
    pub holder: String,
    pub renewed: Timestamp,
}

impl Engine {
    /// This operator: one, or one for each shard, with the name of the shard at the end of its lease's.
    const OURS: Self = Self { name: "Plimsoll's operator", lease: runtime::lease::NAME };

    /// The other engine that does what `half` does.
    pub const fn rival_of(half: Half) -> Self {
        match half {
            Half::Oci => Self { name: "the OCI Service Operator", lease: "40558063.oci" },
            Half::Composition => Self { name: "Crossplane", lease: "crossplane-leader-election-core" },
        }
    }

    /// The engine, if it is running, as far as one look tells: its clock and ours may differ.
    pub async fn find(self, session: &Session) -> Result<Option<Rival>, Error> {
        let is_current = |lease: &Held| lease.is_current(Timestamp::now());
        Ok(self.leases(session).await?.into_iter().find(is_current).map(|lease| lease.rival))
    }

    /// Its leases that have a holder.
    async fn leases(self, session: &Session) -> Result<Vec<Held>, Error> {
        // In any namespace, and with a right that can be limited to this name.
        let selection =
            Selection { fields: Some(format!("metadata.name={}", self.lease)), ..Selection::default() };
        let listing = session.list(&runtime::lease::lease_kind(), &selection).await?;
        let leases = listing.items.into_iter().filter_map(|item| serde_json::from_value(item).ok());
        Ok(leases.filter_map(|lease| Held::of(self, &lease)).collect())
    }

    /// The operators of Plimsoll that are running, shards included.
    pub async fn find_ours(session: &Session) -> Result<Vec<Rival>, Error> {
        let listing = session.list(&runtime::lease::lease_kind(), &Selection::default()).await?;
        let leases = listing.items.into_iter().filter_map(|item| serde_json::from_value::<Lease>(item).ok());
        let is_ours = |lease: &Lease| {
            let rest = lease.metadata.name.as_deref().and_then(|name| name.strip_prefix(Self::OURS.lease));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let held = leases.filter(is_ours).filter_map(|lease| Held::of(Self::OURS, &lease));
        Ok(held.filter(|held| held.is_current(Timestamp::now())).map(|held| held.rival).collect())
    }
}

/// A lease with a holder, which may have expired.
#[derive(Clone)]
struct Held {
    rival: Rival,
    duration: Duration,
}

impl Held {
    fn of(engine: Engine, lease: &Lease) -> Option<Self> {
        let spec = lease.spec.as_ref()?;
        let holder = spec.holder_identity.clone().filter(|holder| !holder.is_empty())?;
        let renewed = spec.renew_time.as_ref()?.0;
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let namespace = lease.metadata.namespace.as_deref().unwrap_or_default();
        let name = lease.metadata.name.as_deref().unwrap_or_default();
        let rival = Rival { engine: engine.name, lease: format!("{namespace}/{name}"), holder, renewed };
        Some(Self { rival, duration: Duration::from_secs(seconds.unwrap_or_default()) })
    }

    /// Whether it was renewed within its duration, if our clock is right.
    fn is_current(&self, now: Timestamp) -> bool {
        now.duration_since(self.rival.renewed).unsigned_abs() <= self.duration
    }
}

/// The leases of an engine over time: one is held while it changes within its duration by our own clock. Clocks of other
/// machines do not count.
#[derive(Default)]
struct Seen(HashMap<String, (Rival, Instant)>);

impl Seen {
    /// The first lease that has changed lately; one that is new has changed.
    fn running(&mut self, leases: Vec<Held>, now: Instant) -> Option<Rival> {
        let before = std::mem::take(&mut self.0);
        let mut running = None;
        for Held { rival, duration } in leases {
            let unchanged = before.get(&rival.lease).filter(|(known, _)| *known == rival);
            let changed = unchanged.map_or(now, |(_, changed)| *changed);
            if now.duration_since(changed) <= duration {
                running.get_or_insert_with(|| rival.clone());
            }
            self.0.insert(rival.lease.clone(), (rival, changed));
        }
        running
    }

    /// These are known, and nothing says since when.
    fn know(&mut self, leases: Vec<Held>, now: Instant) {
        let long_ago = |held: &Held| now.checked_sub(held.duration * 2).unwrap_or(now);
        self.0 = leases
            .into_iter()
            .map(|held| (held.rival.lease.clone(), (held.rival.clone(), long_ago(&held))))
            .collect();
    }
}

/// The first running engine that does what one of `halves` would do.
pub(crate) async fn find(session: &Session, halves: &[Half]) -> Result<Option<Rival>, Error> {
    for half in halves {
        if let Some(rival) = Engine::rival_of(*half).find(session).await? {
            return Ok(Some(rival));
        }
    }
    Ok(None)
}

/// The engine that does what `half` does, if it is running, as soon as the API server knows.
pub(crate) async fn running(session: &Session, half: Half) -> Option<Rival> {
    loop {
        match Engine::rival_of(half).find(session).await {
            Ok(found) => return found,
            Err(error) => {
                let error = error_chain(&error);
                tracing::warn!(error, "cannot check whether another engine is running; retrying");
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Waits until an engine runs that does what `half` does. Whether one runs is unknown while the API server does not answer,
/// and then neither engine can act.
pub(crate) async fn appears(session: &Session, half: Half) {
    let engine = Engine::rival_of(half);
    let mut seen = Seen::default();
    loop {
        if let Ok(leases) = engine.leases(session).await {
            seen.know(leases, Instant::now());
            break;
        }
        tokio::time::sleep(INTERVAL).await;
    }
    loop {
        tokio::time::sleep(INTERVAL).await;
        if let Ok(leases) = engine.leases(session).await
            && seen.running(leases, Instant::now()).is_some()
        {
            return;
        }
    }
}

/// Waits until no such engine runs.
pub(crate) async fn gone(session: &Session, half: Half) {
    let engine = Engine::rival_of(half);
    let mut seen = Seen::default();
    loop {
        if let Ok(leases) = engine.leases(session).await
            && seen.running(leases, Instant::now()).is_none()
        {
            return;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

#[cfg(test)]
mod tests;
