//! Other engines for the same objects: two at work would undo what the other has done, so we look before we start.

use cluster::{Error, Selection, Session};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use manifest::GroupVersionKind;

use crate::options::Half;

/// Another engine, and the lease by which it shows that it runs.
struct Engine {
    name: &'static str,
    lease: &'static str,
}

/// Another engine that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// What people call it.
    pub engine: &'static str,
    /// Its lease, with its namespace.
    pub lease: String,
    /// Who holds it.
    pub holder: String,
}

const fn engine_of(half: Half) -> Engine {
    match half {
        Half::Oci => Engine { name: "the OCI Service Operator", lease: "40558063.oci" },
        Half::Composition => Engine { name: "Crossplane", lease: "crossplane-leader-election-core" },
    }
}

/// The first engine that runs and does what one of `halves` would do.
pub(crate) async fn find(session: &Session, halves: &[Half]) -> Result<Option<Rival>, Error> {
    for half in halves {
        let engine = engine_of(*half);
        // Wherever it is installed, and with a right that is about this name only.
        let selection =
            Selection { fields: Some(format!("metadata.name={}", engine.lease)), ..Selection::default() };
        let listing = session.list(&lease_kind(), &selection).await?;
        let leases = listing.items.into_iter().filter_map(|item| serde_json::from_value(item).ok());
        if let Some(rival) = leases.into_iter().find_map(|lease| held(&engine, &lease, Timestamp::now())) {
            return Ok(Some(rival));
        }
    }
    Ok(None)
}

pub(crate) fn lease_kind() -> GroupVersionKind {
    let version = "coordination.k8s.io/v1".parse().expect("a version of Kubernetes");
    GroupVersionKind::new(version, "Lease").expect("a kind of Kubernetes")
}

/// Whoever holds `lease`, if its time is not over.
fn held(engine: &Engine, lease: &Lease, now: Timestamp) -> Option<Rival> {
    let spec = lease.spec.as_ref()?;
    let holder = spec.holder_identity.clone().filter(|holder| !holder.is_empty())?;
    let renewed = spec.renew_time.as_ref()?.0;
    let lasts = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or_default().into());
    if now.duration_since(renewed) > lasts {
        return None;
    }
    let namespace = lease.metadata.namespace.as_deref().unwrap_or_default();
    let name = lease.metadata.name.as_deref().unwrap_or_default();
    Some(Rival { engine: engine.name, lease: format!("{namespace}/{name}"), holder })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_engine_runs_while_its_lease_is_held_and_renewed() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let check = |holder: Option<&str>, renewed: Option<&str>, expected: bool| {
            let lease = json!({
                "metadata": { "namespace": "osok", "name": "40558063.oci" },
                "spec": { "holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15 },
            });
            let found = held(&engine_of(Half::Oci), &serde_json::from_value(lease).unwrap(), now);
            assert_eq!(found.is_some(), expected, "{holder:?} {renewed:?}");
            assert!(found.is_none_or(|rival| rival.lease == "osok/40558063.oci" && rival.holder == "pod-1"));
        };
        check(Some("pod-1"), Some("2026-11-15T11:59:50.000000Z"), true);
        check(Some("pod-1"), Some("2026-11-15T12:00:07.000000Z"), true);
        check(Some("pod-1"), Some("2026-11-15T11:59:44.000000Z"), false);
        check(Some("pod-1"), None, false);
        check(Some(""), Some("2026-11-15T11:59:59.000000Z"), false);
        check(None, None, false);
    }
}
