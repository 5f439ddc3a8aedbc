//! What would be installed, without a cluster.

use std::collections::BTreeMap;

use serde_json::Value;
use testkit::Sandbox;

use super::{objects, plimsoll, text};

const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");

#[test]
fn the_defaults_are_the_kustomization() {
    are_the_same(&[], DEPLOY);
    // With the component for monitoring, which a kustomization of the user adds.
    // In the workspace, since it names others by relative paths.
    let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");
    std::fs::create_dir_all(target).unwrap();
    let folder = tempfile::tempdir_in(target).unwrap();
    // A component has no labels of its own, which every resource of the user would get.
    let labels = "{app.kubernetes.io/name: plimsoll, app.kubernetes.io/component: operator}";
    let text = format!(
        "resources: [../../deploy]\ncomponents: [../../deploy/monitoring]\nlabels: [{{pairs: {labels}}}]\n"
    );
    std::fs::write(folder.path().join("kustomization.yaml"), text).unwrap();
    are_the_same(&["--monitoring"], folder.path().to_str().unwrap());
}

/// What an installation has is what a kustomization has.
fn are_the_same(options: &[&str], kustomization: &str) {
    let ours = ordered(objects(&plimsoll(&[&["install", "-o", "yaml"], options].concat()).output().unwrap()));
    let kustomized = ordered(objects(&Sandbox::shared().kubectl(&["kustomize", kustomization])));
    let names = |objects: &BTreeMap<String, Value>| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&kustomized));
    for (name, object) in &ours {
        assert_eq!(*object, kustomized[name], "{name}");
    }
}

/// With containers by name: a kustomization puts those that it adds first.
fn ordered(mut objects: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    for object in objects.values_mut() {
        let containers = object.pointer_mut("/spec/template/spec/containers").and_then(Value::as_array_mut);
        if let Some(containers) = containers {
            containers.sort_by_key(|container| container["name"].to_string());
        }
    }
    objects
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
    check(
        &["--monitoring"],
        &[
            "kind: ServiceMonitor\n",
            "kube-rbac-proxy",
            "kind: PrometheusRule\n",
            "name: plimsoll-dashboard\n",
        ],
        &[],
    );
    check(
        &["--monitoring", "--shard", "eu"],
        &["{service=\"plimsoll-operator-metrics\"}", "{service=\"plimsoll-operator-eu-metrics\"}"],
        &[],
    );
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
