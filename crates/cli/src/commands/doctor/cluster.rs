//! Checks the cluster: its version, our parts in it, and other engines at work there.

use cluster::{Selection, Session};
use jiff::Timestamp;
use serde_json::Value;

use super::{Finding, State};
use crate::args::cluster::ClusterArgs;
use crate::support::age::age;
use crate::support::connect::Cluster;
use crate::support::exit::Failure;

/// The leases that engines hold while they run, and what that means for us.
const ENGINES: [(&str, &str, &str); 3] = [
    ("plimsoll-operator", "Plimsoll's operator", ""),
    (
        "crossplane-leader-election-core",
        "Crossplane",
        "`plimsoll operator` does not start beside it, unless with --take-over.",
    ),
    (
        "40558063.oci",
        "the OCI Service Operator",
        "`plimsoll operator` does not start beside it, unless with --take-over.",
    ),
];

/// The kinds that the operator reconciles.
const OURS: [&str; 4] = [
    "compositeresourcedefinitions.apiextensions.crossplane.io",
    "compositions.apiextensions.crossplane.io",
    "queues.queue.oracle.com",
    "streams.streaming.oracle.com",
];

pub(super) async fn look(args: &ClusterArgs) -> Vec<Finding> {
    let cluster = match Cluster::connect(args) {
        Ok(cluster) => cluster,
        Err(failure) => return vec![unreachable(&failure)],
    };
    let mut findings = Vec::new();
    match cluster.session.resources().await {
        Err(error) => findings.push(unreachable(&error.diagnostic("Connect").into())),
        Ok(resources) => {
            findings.push(version(&cluster.session, resources.len()).await);
            findings.push(kinds(&cluster.session).await);
            findings.extend(engines(&cluster.session).await);
        }
    }
    findings
}

fn unreachable(failure: &Failure) -> Finding {
    match failure {
        Failure::Output(error) => Finding::new("cluster", State::Broken, error.to_string()),
        Failure::Diagnostic(diagnostic) => {
            // A missing configuration is not a fault; most commands just need one.
            let none = diagnostic.detail.contains("no cluster is configured");
            let detail = diagnostic.detail.lines().next().unwrap_or(&diagnostic.summary);
            let state = if none { State::Absent } else { State::Broken };
            let finding = Finding::new("cluster", state, detail);
            match &diagnostic.hint {
                Some(hint) => finding.advise(hint),
                None => finding,
            }
        }
    }
}

async fn version(session: &Session, kinds: usize) -> Finding {
    const SUBJECT: &str = "cluster";
    match session.client().apiserver_version().await {
        Ok(info) => {
            Finding::new(SUBJECT, State::Good, format!("Kubernetes {}, {kinds} kinds", info.git_version))
        }
        Err(error) => Finding::new(SUBJECT, State::Odd, format!("it does not tell its version: {error}")),
    }
}

async fn kinds(session: &Session) -> Finding {
    const SUBJECT: &str = "our kinds";
    let crd = "apiextensions.k8s.io/v1/CustomResourceDefinition".parse().expect("a fixed kind");
    let definitions = match session.list(&crd, &Selection::default()).await {
        Ok(listing) => listing.items,
        Err(error) => return Finding::new(SUBJECT, State::Odd, format!("they cannot be looked at: {error}")),
    };
    let has = |name: &&&str| definitions.iter().any(|definition| definition["metadata"]["name"] == **name);
    let missing: Vec<&str> = OURS.iter().filter(|name| !has(name)).copied().collect();
    match missing[..] {
        [] => Finding::new(SUBJECT, State::Good, "installed"),
        _ if missing.len() == OURS.len() => Finding::new(SUBJECT, State::Absent, "not installed")
            .advise("`plimsoll crds | plimsoll apply -f -` installs them; so does `plimsoll operator --install-crds`."),
        _ => Finding::new(SUBJECT, State::Odd, format!("missing: {}", missing.join(", ")))
            .advise("`plimsoll crds | plimsoll apply -f -` installs them."),
    }
}

async fn engines(session: &Session) -> Vec<Finding> {
    let lease = "coordination.k8s.io/v1/Lease".parse().expect("a fixed kind");
    let leases = match session.list(&lease, &Selection::default()).await {
        Ok(listing) => listing.items,
        Err(error) => {
            return vec![Finding::new("engines", State::Odd, format!("they cannot be looked at: {error}"))];
        }
    };
    let now = Timestamp::now();
    let found: Vec<Finding> = leases.iter().filter_map(|lease| engine(lease, now)).collect();
    if found.is_empty() { vec![Finding::new("engines", State::Good, "none")] } else { found }
}

/// The engine behind `lease`, if it is known and the lease is held.
fn engine(lease: &Value, now: Timestamp) -> Option<Finding> {
    let text = |pointer: &str| lease.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (_, engine, meaning) = ENGINES.iter().find(|(name, ..)| *name == text("/metadata/name"))?;
    let holder = text("/spec/holderIdentity");
    let renewed: Timestamp = text("/spec/renewTime").parse().ok()?;
    let seconds = lease["spec"]["leaseDurationSeconds"].as_i64().unwrap_or_default();
    if holder.is_empty() || now.duration_since(renewed).as_secs() > seconds {
        return None;
    }
    let (namespace, heard) = (text("/metadata/namespace"), age(text("/spec/renewTime"), now));
    let found = format!("{engine} is at work in namespace {namespace} ({holder}, heard of {heard} ago)");
    Some(if meaning.is_empty() {
        Finding::new("engines", State::Good, found)
    } else {
        Finding::new("engines", State::Odd, found).advise(*meaning)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_engine_is_at_work_while_its_lease_is_held() {
        let lease = |name: &str, holder: &str, renewed: &str| {
            json!({
                "metadata": { "name": name, "namespace": "crossplane-system" },
                "spec": { "holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 60 },
            })
        };
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let check = |lease: &Value, expected: Option<&str>| {
            assert_eq!(engine(lease, now).map(|finding| finding.found).as_deref(), expected);
        };
        let crossplane = "crossplane-leader-election-core";
        let recent = "2026-01-01T00:00:30.000000Z";
        check(
            &lease(crossplane, "pod-1", recent),
            Some("Crossplane is at work in namespace crossplane-system (pod-1, heard of 30s ago)"),
        );
        check(&lease(crossplane, "", recent), None);
        check(&lease(crossplane, "pod-1", "2025-12-31T23:59:00.000000Z"), None);
        check(&lease("another", "pod-1", recent), None);
    }
}
