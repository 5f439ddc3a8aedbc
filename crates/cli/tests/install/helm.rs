//! The chart, with a real Helm, which takes minutes to build: only the long tests run this.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use testkit::{ReleaseTool, Sandbox};

use super::{is_whole, objects, plimsoll, text};

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/chart");
const NAMESPACE: &str = "--namespace=plimsoll-system";

fn helm(home: &Path, arguments: &[&str]) -> Output {
    let mut command = ReleaseTool::Helm.command();
    command.args(arguments).env("HOME", home).env_remove("KUBECONFIG");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    output
}

/// The objects without Helm's own annotation, which keeps CRDs.
fn without_policy(mut objects: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    for object in objects.values_mut() {
        let metadata = object["metadata"].as_object_mut().unwrap();
        let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
        if annotations.is_some_and(|it| it.remove("helm.sh/resource-policy").is_some() && it.is_empty()) {
            metadata.remove("annotations");
        }
    }
    objects
}

#[test]
fn the_chart_installs_what_plimsoll_installs() {
    if !is_whole() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let check = |options: &[&str], values: &[&str]| {
        let values = values.iter().flat_map(|value| ["--set", value]);
        let arguments = ["template", "plimsoll", CHART, NAMESPACE].into_iter().chain(values);
        let chart = without_policy(objects(&helm(home.path(), &arguments.collect::<Vec<_>>())));
        let mut ours = objects(&plimsoll(&[&["install", "-o", "yaml"], options].concat()).output().unwrap());
        // Helm creates the namespace.
        ours.remove("Namespace /plimsoll-system").unwrap();
        let names = |objects: &BTreeMap<String, Value>| objects.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&chart), names(&ours), "{options:?}");
        for (name, object) in &chart {
            assert_eq!(*object, ours[name], "{options:?}: {name}");
        }
    };
    check(&[], &[]);
    check(&["--controllers=oci", "--replicas=1"], &["controllers={oci}", "replicas=1"]);
    check(&["--grant-defined-kinds", "--user-roles"], &["grantDefinedKinds=true", "userRoles=true"]);
    check(&["--tenant-account=composer"], &["tenantAccount=composer"]);
    check(&["--shard=eu", "--shard=us", "--monitoring"], &["shards={eu,us}", "monitoring.enabled=true"]);
    check(
        &["--no-network-policy", "--monitoring"],
        &["networkPolicy.enabled=false", "monitoring.enabled=true"],
    );
    check(&["--pull-secret=r", "--env-secret=oci"], &["image.pullSecrets={r}", "envSecrets={oci}"]);
    let digest = format!("sha256:{}", "4d0b".repeat(16));
    check(&[&format!("--image=plimsoll@{digest}")], &[&format!("image.digest={digest}")]);
    check(
        &["--", "--function=web=127.0.0.1:9443", "--function-timeout=1m"],
        &["functions.web=127.0.0.1:9443", "arguments={--function-timeout=1m}"],
    );
}

#[test]
fn helm_installs_upgrades_and_uninstalls_and_crds_stay() {
    if !is_whole() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    helm(home.path(), &["lint", "--strict", CHART]);
    let sandbox = Sandbox::dedicated("helm");
    let kubeconfig = format!("--kubeconfig={}", sandbox.kubeconfig().display());
    let helm = |arguments: &[&str]| {
        let output = helm(home.path(), &[arguments, &[NAMESPACE, &kubeconfig]].concat());
        text(&output.stdout)
    };
    let exists = |object: &str| sandbox.kubectl(&["get", object, NAMESPACE]).status.success();
    let installed = helm(&["install", "plimsoll", CHART, "--create-namespace", "--wait", "--timeout=2m"]);
    assert!(
        installed.contains("The operator runs in namespace plimsoll-system with 2 replicas"),
        "{installed}"
    );
    assert!(exists("deployment/plimsoll-operator") && exists("crd/queues.queue.oracle.com"));

    // Ours leaves it alone.
    let refused = plimsoll(&["install"]).env("KUBECONFIG", sandbox.kubeconfig()).output().unwrap();
    assert!(text(&refused.stderr).contains("helm upgrade plimsoll"), "{}", text(&refused.stderr));

    let upgrade = ["upgrade", "plimsoll", CHART, "--set", "shards={eu},replicas=1", "--wait", "--timeout=2m"];
    helm(&upgrade);
    assert!(exists("deployment/plimsoll-operator-eu") && !exists("poddisruptionbudget/plimsoll-operator"));

    helm(&["uninstall", "plimsoll", "--wait", "--timeout=2m"]);
    assert!(!exists("deployment/plimsoll-operator") && !exists("clusterrole/plimsoll-oci"));
    assert!(exists("crd/queues.queue.oracle.com") && exists("crd/compositions.apiextensions.crossplane.io"));
    // The CRDs that stayed are no obstacle to the next release.
    helm(&["install", "plimsoll", CHART, "--wait", "--timeout=2m"]);
}

/// Creates the CRDs of Crossplane's kinds as Crossplane does.
fn create_crossplanes_crds(sandbox: &Sandbox) {
    let output = plimsoll(&["crds", "--controllers=composition", "-o", "json"]).output().unwrap();
    let mut list: Value = serde_json::from_slice(&output.stdout).unwrap();
    for crd in list["items"].as_array_mut().unwrap() {
        for version in crd["spec"]["versions"].as_array_mut().unwrap() {
            version["schema"]["openAPIV3Schema"]["description"] = "As Crossplane describes it.".into();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crds.json");
    std::fs::write(&file, list.to_string()).unwrap();
    let created =
        sandbox.kubectl(&["create", "--field-manager=crossplane", "--filename", file.to_str().unwrap()]);
    assert!(created.status.success(), "{}", text(&created.stderr));
}

#[test]
fn helm_and_kubectl_take_over_the_crds_of_crossplane() {
    if !is_whole() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::dedicated("helm-crds");
    create_crossplanes_crds(&sandbox);
    let kubeconfig = format!("--kubeconfig={}", sandbox.kubeconfig().display());
    let install = ["install", "plimsoll", CHART, NAMESPACE, "--create-namespace", &kubeconfig];
    let mut plain = ReleaseTool::Helm.command();
    assert!(!plain.args(install).env("HOME", home.path()).output().unwrap().status.success());
    helm(home.path(), &[&install[..], &["--take-ownership", "--force-conflicts"]].concat());
    helm(home.path(), &["uninstall", "plimsoll", NAMESPACE, &kubeconfig]);

    let deploy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
    let apply = ["apply", "--server-side", "--kustomize", deploy];
    let applied = sandbox.kubectl(&[&apply[..], &["--force-conflicts"]].concat());
    assert!(applied.status.success(), "{}", text(&applied.stderr));
}
