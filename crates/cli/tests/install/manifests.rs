//! What would be installed, without a cluster.

use testkit::Sandbox;

use super::{objects, plimsoll, text};

const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");

#[test]
fn the_defaults_are_the_kustomization() {
    let ours = objects(&plimsoll(&["install", "-o", "yaml"]).output().unwrap());
    let kustomized = objects(&Sandbox::shared().kubectl(&["kustomize", DEPLOY]));
    let names = |objects: &std::collections::BTreeMap<String, _>| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&kustomized));
    for (name, object) in &ours {
        assert_eq!(*object, kustomized[name], "{name}");
    }
}

#[test]
fn options_choose_what_is_installed() {
    let check = |options: &[&str], expected: &[&str], absent: &[&str]| {
        let output = plimsoll(&[&["install", "-o", "yaml"], options].concat()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let manifests = text(&output.stdout);
        for line in expected {
            assert!(manifests.contains(line), "{options:?}: {line} is not in\n{manifests}");
        }
        for line in absent {
            assert!(!manifests.contains(line), "{options:?}: {line} is in\n{manifests}");
        }
    };
    check(
        &["--controllers", "oci"],
        &["- --controllers=oci\n", "name: plimsoll-oci\n", "name: queues.queue.oracle.com\n"],
        &["plimsoll-composition", "compositions.apiextensions.crossplane.io"],
    );
    check(&["-n", "platform"], &["namespace: platform\n", "  name: platform\n"], &["plimsoll-system"]);
    check(&["--replicas", "1"], &["replicas: 1\n"], &["PodDisruptionBudget"]);
    check(
        &["--image", "r.example.org/p@sha256:4d0b", "--pull-secret", "r"],
        &["image: r.example.org/p@sha256:4d0b\n", "imagePullSecrets:\n"],
        &["image: plimsoll"],
    );
    check(&["--grant-defined-kinds"], &["- escalate\n"], &["crossplane-admin"]);
    check(&["--user-roles"], &["  name: crossplane-admin\n"], &["- escalate\n"]);
    check(
        &["--tenant-account", "composer"],
        &["- --default-service-account=composer\n", "- composer\n", "- impersonate\n"],
        &["plimsoll-composer"],
    );
    check(
        &["--kinds", "queue/Queue,database/AutonomousVmCluster"],
        &["- autonomousvmclusters/status\n", "kind: AutonomousVmCluster\n"],
        &[],
    );
    check(&["--env-secret", "oci"], &["envFrom:\n"], &[]);
    check(&["--monitoring"], &["kind: ServiceMonitor\n", "kube-rbac-proxy", "kind: PrometheusRule\n"], &[]);
    check(&["--no-network-policy", "--monitoring"], &[], &["kind: NetworkPolicy\n"]);
    check(
        &["--shard", "eu", "--", "--function-timeout=1m"],
        &[
            "name: plimsoll-operator-eu\n",
            "- plimsoll-operator-eu\n",
            "- --watch-label-selector=plimsoll.dev/shard=eu\n",
            "- --watch-label-selector=!plimsoll.dev/shard\n",
            "- --lease-name=plimsoll-operator-eu\n",
            "- --function-timeout=1m\n",
        ],
        &["serviceAccountName: plimsoll-operator-eu"],
    );
}

#[test]
fn options_that_the_operator_would_reject_are_rejected() {
    let refused = plimsoll(&["install", "-o", "yaml", "--", "--oci-qps=none"]).output().unwrap();
    assert!(!refused.status.success() && refused.stdout.is_empty());
    let message = text(&refused.stderr);
    assert!(message.contains("invalid value 'none' for '--oci-qps <COUNT>'"), "{message}");
}
