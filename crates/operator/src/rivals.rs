//! Other engines for the same objects. Two would undo each other's work, so the operator checks before its controllers start and
//! as long as they run.

use std::time::Duration;

use cluster::{Error, Selection, Session};
use diag::error_chain;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;

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

    /// The engine, if it is running.
    pub async fn find(self, session: &Session) -> Result<Option<Rival>, Error> {
        // In any namespace, and with a right that can be limited to this name.
        let selection =
            Selection { fields: Some(format!("metadata.name={}", self.lease)), ..Selection::default() };
        let listing = session.list(&runtime::lease::lease_kind(), &selection).await?;
        let mut leases = listing.items.into_iter().filter_map(|item| serde_json::from_value(item).ok());
        Ok(leases.find_map(|lease| held(self, &lease, Timestamp::now())))
    }

    /// The operators of Plimsoll that are running, shards included.
    pub async fn find_ours(session: &Session) -> Result<Vec<Rival>, Error> {
        let listing = session.list(&runtime::lease::lease_kind(), &Selection::default()).await?;
        let leases = listing.items.into_iter().filter_map(|item| serde_json::from_value::<Lease>(item).ok());
        let is_ours = |lease: &Lease| {
            let rest = lease.metadata.name.as_deref().and_then(|name| name.strip_prefix(Self::OURS.lease));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let now = Timestamp::now();
        Ok(leases.filter(is_ours).filter_map(|lease| held(Self::OURS, &lease, now)).collect())
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

/// Waits until an engine runs that does what `half` does.
pub(crate) async fn appears(session: &Session, half: Half) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        // Whether one runs is unknown while the API server does not answer, and then neither engine can act.
        if let Ok(Some(_)) = Engine::rival_of(half).find(session).await {
            return;
        }
    }
}

/// Waits until no such engine runs.
pub(crate) async fn gone(session: &Session, half: Half) {
    while !matches!(Engine::rival_of(half).find(session).await, Ok(None)) {
        tokio::time::sleep(INTERVAL).await;
    }
}

/// The engine, if its lease is held and has not expired.
fn held(engine: Engine, lease: &Lease, now: Timestamp) -> Option<Rival> {
    let spec = lease.spec.as_ref()?;
    let holder = spec.holder_identity.clone().filter(|holder| !holder.is_empty())?;
    let renewed = spec.renew_time.as_ref()?.0;
    let lasts = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or_default().into());
    if now.duration_since(renewed) > lasts {
        return None;
    }
    let namespace = lease.metadata.namespace.as_deref().unwrap_or_default();
    let name = lease.metadata.name.as_deref().unwrap_or_default();
    Some(Rival { engine: engine.name, lease: format!("{namespace}/{name}"), holder, renewed })
}

#[cfg(test)]
mod tests;
