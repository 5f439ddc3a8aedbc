//! Checks the cluster: its version, our CRDs, and the engines that run in it.

use cluster::{Error, Selection, Session};
use jiff::Timestamp;
use operator::install::definitions;
use operator::{Engine, Half, Rival};
use oraclecloud::Catalogue;
use serde_json::Value;

use super::{Finding, Status};
use crate::args::cluster::ClusterArgs;
use crate::support::age;
use crate::support::connect::Cluster;
use crate::support::exit::Failure;

pub(super) async fn check(args: &ClusterArgs) -> Vec<Finding> {
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
            findings.extend(super::functions::check(&cluster.session).await);
        }
    }
    findings
}

fn unreachable(failure: &Failure) -> Finding {
    match failure {
        Failure::Output(error) => Finding::new("cluster", Status::Broken, error.to_string()),
        Failure::Diagnostic(diagnostic) => {
            // A missing configuration is not a fault; most commands just need one.
            let none = diagnostic.detail.contains("no cluster is configured");
            let detail = diagnostic.detail.lines().next().unwrap_or(&diagnostic.summary);
            let status = if none { Status::Absent } else { Status::Broken };
            let finding = Finding::new("cluster", status, detail);
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
            Finding::new(SUBJECT, Status::Good, format!("Kubernetes {}, {kinds} kinds", info.git_version))
        }
        Err(error) => Finding::new(SUBJECT, Status::Odd, format!("cannot read its version: {error}")),
    }
}

async fn kinds(session: &Session) -> Finding {
    const SUBJECT: &str = "our kinds";
    let crd = "apiextensions.k8s.io/v1/CustomResourceDefinition".parse().expect("a fixed kind");
    let installed = match session.list(&crd, &Selection::default()).await {
        Ok(listing) => listing.items,
        Err(error) => return Finding::new(SUBJECT, Status::Odd, format!("cannot list CRDs: {error}")),
    };
    let name = |definition: &Value| definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let (mut ours, mut missing) = (Vec::new(), Vec::new());
    for half in Half::ALL {
        let names: Vec<String> = definitions(*half, &Catalogue::standard()).iter().map(name).collect();
        let is_installed = |ours: &&String| installed.iter().any(|definition| name(definition) == **ours);
        // Which kinds at Oracle Cloud there are is the user's choice.
        if *half != Half::Oci || !names.iter().any(|ours| is_installed(&ours)) {
            missing.extend(names.iter().filter(|ours| !is_installed(ours)).cloned());
        }
        ours.extend(names);
    }
    let advice = "Install them with `plimsoll crds --apply` or `plimsoll operator --install-crds`.";
    match missing.len() {
        0 => Finding::new(SUBJECT, Status::Good, "installed"),
        all if all == ours.len() => Finding::new(SUBJECT, Status::Absent, "not installed").advise(advice),
        _ => Finding::new(SUBJECT, Status::Odd, format!("missing: {}", missing.join(", "))).advise(advice),
    }
}

async fn engines(session: &Session) -> Vec<Finding> {
    let running = async {
        let mut running = Vec::new();
        for half in Half::ALL {
            running.extend(Engine::rival_of(*half).find(session).await?.map(|rival| (rival, false)));
        }
        running.extend(Engine::find_ours(session).await?.into_iter().map(|ours| (ours, true)));
        Ok::<_, Error>(running)
    };
    match running.await {
        Ok(running) if running.is_empty() => vec![Finding::new("engines", Status::Good, "none")],
        Ok(running) => {
            let describe =
                |(engine, is_ours): &(Rival, bool)| running_engine(engine, *is_ours, Timestamp::now());
            running.iter().map(describe).collect()
        }
        Err(error) => vec![Finding::new("engines", Status::Odd, format!("cannot list leases: {error}"))],
    }
}

fn running_engine(running: &Rival, is_ours: bool, now: Timestamp) -> Finding {
    let Rival { engine, lease, holder, renewed } = running;
    let age = age::between(*renewed, now);
    let found = format!("{engine} is running: {holder} holds lease {lease}, renewed {age} ago");
    if is_ours {
        return Finding::new("engines", Status::Good, found);
    }
    Finding::new("engines", Status::Odd, found)
        .advise("Plimsoll's controllers wait until it is gone, unless the operator has --take-over.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_engine_is_named_with_its_lease() {
        let crossplane = Rival {
            engine: "Crossplane",
            lease: "crossplane-system/crossplane-leader-election-core".to_owned(),
            holder: "pod-1".to_owned(),
            renewed: "2026-01-01T00:00:30Z".parse().unwrap(),
        };
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let finding = running_engine(&crossplane, false, now);
        assert_eq!(
            finding.found,
            "Crossplane is running: pod-1 holds lease crossplane-system/crossplane-leader-election-core, renewed 30s ago"
        );
        assert_eq!(
            (finding.status, running_engine(&crossplane, true, now).status),
            (Status::Odd, Status::Good)
        );
    }
}
