//! Other engines for the same objects. Two would undo each other's work, so the operator checks before it starts and as long as
//! it runs.

use std::time::Duration;

use cluster::{Error, Selection, Session};
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
    /// This operator.
    pub const OURS: Self = Self { name: "Plimsoll's operator", lease: runtime::lease::NAME };

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

/// Waits until an engine runs that does what `half` does.
pub(crate) async fn appears(session: &Session, half: Half) -> Rival {
    loop {
        tokio::time::sleep(INTERVAL).await;
        // Whether one runs is unknown while the API server does not answer, and then neither of both can do anything.
        if let Ok(Some(rival)) = Engine::rival_of(half).find(session).await {
            return rival;
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
