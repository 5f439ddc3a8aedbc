//! The manifests in `deploy/`: they apply as they are, list everything, and speak of metrics that exist.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use jiff::Timestamp;
use operator::runtime::metrics::{Loss, Metrics};
use testkit::Sandbox;

const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");

#[test]
fn the_kustomization_applies_unchanged() {
    let sandbox = Sandbox::shared();
    let run = |arguments: &[&str]| {
        let output = sandbox.kubectl(arguments);
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {reported}");
        assert!(!reported.contains("Warning"), "{reported}");
        String::from_utf8(output.stdout).unwrap()
    };
    let apply = ["apply", "--server-side", "--force-conflicts", "--kustomize", DEPLOY];
    run(&apply);
    let again = run(&apply);
    assert_eq!(again.lines().count(), 23, "{again}");
    let account = "--as=system:serviceaccount:plimsoll-system:plimsoll-operator";
    let may = |what: &[&str]| {
        let asked = [&["auth", "can-i", account], what].concat();
        sandbox.kubectl(&asked).status.success()
    };
    for allowed in [
        &["watch", "queues.queue.oracle.com"][..],
        &["update", "queues.queue.oracle.com", "--subresource=status"],
        &["create", "events", "--namespace=default"],
        &["update", "leases.coordination.k8s.io/plimsoll-operator", "--namespace=plimsoll-system"],
        &["create", "secrets", "--namespace=default"],
        &["update", "compositeresourcedefinitions.apiextensions.crossplane.io", "--subresource=status"],
        &["escalate", "clusterroles.rbac.authorization.k8s.io"],
    ] {
        assert!(may(allowed), "{allowed:?}");
    }
    for forbidden in [
        &["delete", "queues.queue.oracle.com"][..],
        &["create", "queues.queue.oracle.com"],
        &["get", "pods", "--namespace=default"],
        &["delete", "events", "--namespace=default"],
        &["update", "leases.coordination.k8s.io/plimsoll-operator", "--namespace=default"],
        &["create", "clusterrolebindings.rbac.authorization.k8s.io"],
        &["bind", "clusterroles.rbac.authorization.k8s.io"],
        &["impersonate", "users"],
    ] {
        assert!(!may(forbidden), "{forbidden:?}");
    }
    run(&["delete", "deployment", "plimsoll-operator", "--namespace=plimsoll-system"]);
}

#[test]
fn the_prometheus_overlay_builds() {
    let output = Sandbox::shared().kubectl(&["kustomize", &format!("{DEPLOY}/monitoring")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let built = String::from_utf8(output.stdout).unwrap();
    let kinds: Vec<&str> = built.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    assert_eq!(kinds, ["PrometheusRule", "ServiceMonitor"]);
}

#[test]
fn every_role_is_explained() {
    let readme = fs::read_to_string(format!("{DEPLOY}/README.md")).unwrap();
    let output = Sandbox::shared().kubectl(&["kustomize", DEPLOY]);
    let built = String::from_utf8(output.stdout).unwrap();
    let roles = built.split("---\n").filter(|document| document.contains("\nkind: ClusterRole\n"));
    let names: Vec<&str> =
        roles.filter_map(|role| role.lines().find_map(|line| line.strip_prefix("  name: "))).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    for name in names {
        assert!(readme.contains(&format!("\n| `{name}` |")), "{name}");
    }
}

#[test]
fn every_definition_is_listed() {
    let kustomization = fs::read_to_string(format!("{DEPLOY}/kustomization.yaml")).unwrap();
    for file in fs::read_dir(format!("{DEPLOY}/crds")).unwrap() {
        let line = format!("\n  - crds/{}\n", file.unwrap().file_name().to_str().unwrap());
        assert!(kustomization.contains(&line), "{line}");
    }
}

#[test]
fn alerts_use_existing_metrics() {
    let metrics = Metrics::new();
    metrics.operation("Queue", "u", Some(("create", Timestamp::now())));
    metrics.claim("xrd", "u", Some("InternalError"));
    metrics.cloud_call("GetQueue", "ok", Duration::ZERO);
    metrics.event_lost(Loss::Refused);
    let text = metrics.text(Timestamp::now());
    let alerts = fs::read_to_string(format!("{DEPLOY}/monitoring/alerts.yaml")).unwrap();
    let names: BTreeSet<&str> = alerts
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expr: "))
        .flat_map(|expression| expression.split(|letter: char| !letter.is_alphanumeric() && letter != '_'))
        .filter(|word| word.starts_with("plimsoll_"))
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
    for name in names {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name} is not in\n{text}");
    }
}
