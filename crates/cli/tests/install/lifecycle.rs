//! From the first installation to the last trace.

use std::path::Path;

use testkit::Sandbox;

use super::{objects, run, text};

/// Runs a command that must succeed, and returns what it said.
fn done(kubeconfig: &Path, arguments: &[&str]) -> String {
    let (succeeded, said) = run(kubeconfig, arguments);
    assert!(succeeded, "{arguments:?}: {said}");
    said
}

#[track_caller]
fn contains(said: &str, lines: &[&str]) {
    for line in lines {
        assert!(said.contains(line), "{line:?} is not in\n{said}");
    }
}

const QUEUE: &str = r#"{"apiVersion":"queue.oracle.com/v1beta1","kind":"Queue","metadata":{"name":"orders","namespace":"default"},"spec":{"compartmentId":"ocid1.compartment.oc1..a","displayName":"orders"}}"#;

const FUNCTION: &str = r#"{"apiVersion":"pkg.crossplane.io/v1","kind":"Function","metadata":{"name":"web"},"spec":{"package":"r.example.org/a/web:v1"}}"#;

#[test]
fn an_installation_is_updated_and_removed_and_users_keep_their_objects() {
    let sandbox = Sandbox::dedicated("install");
    let kubeconfig = sandbox.kubeconfig();
    let plimsoll = |arguments: &[&str]| done(&kubeconfig, arguments);
    let kubectl = |arguments: &[&str]| sandbox.kubectl(arguments);
    let exists = |object: &str| kubectl(&["get", object, "--namespace=plimsoll-system"]).status.success();

    let wanted = objects(&super::plimsoll(&["install", "-o", "yaml"]).output().unwrap());
    let crds = wanted.keys().filter(|name| name.starts_with("CustomResourceDefinition")).count();
    let all = wanted.len();

    contains(&plimsoll(&["install", "--dry-run"]), &["+ ClusterRole plimsoll-oci", "to create later"]);
    assert!(!exists("namespace/plimsoll-system"));
    contains(
        &plimsoll(&["install", "--wait", "--timeout", "100s"]),
        &[
            &format!(
                "waiting up to 1m40s for {crds} CRDs to be served, and for 2 replicas each of Deployment"
            ),
            "ready Deployment plimsoll-system/plimsoll-operator",
            &format!("{all} created"),
            "plimsoll uninstall",
        ],
    );
    contains(&plimsoll(&["install"]), &[&format!("{all} unchanged")]);

    // What is no longer chosen goes, and CRDs stay.
    let changed = ["install", "--controllers=composition", "--replicas=1", "--shard=eu", "--wait"];
    contains(
        &plimsoll(&changed),
        &[
            "- ClusterRole plimsoll-oci is gone",
            "- PodDisruptionBudget plimsoll-system/plimsoll-operator is gone",
            "ready Deployment plimsoll-system/plimsoll-operator-eu",
        ],
    );
    assert!(exists("crd/queues.queue.oracle.com") && !exists("clusterrole/plimsoll-oci"));
    contains(&plimsoll(&["install"]), &["- Deployment plimsoll-system/plimsoll-operator-eu is gone"]);

    // Helm's objects are Helm's.
    let annotate = ["annotate", "deployment/plimsoll-operator", "--namespace=plimsoll-system"];
    kubectl(&[&annotate[..], &["meta.helm.sh/release-name=platform"]].concat());
    for command in ["install", "uninstall"] {
        let (succeeded, said) = run(&kubeconfig, &[command]);
        assert!(!succeeded);
        contains(
            &said,
            &["Helm manages the installation in plimsoll-system", "platform --namespace plimsoll-system"],
        );
    }
    kubectl(&[&annotate[..], &["meta.helm.sh/release-name-"]].concat());

    // The roles are those of the one operator.
    for command in ["install", "uninstall"] {
        let (succeeded, said) = run(&kubeconfig, &[command, "--namespace", "default"]);
        assert!(!succeeded);
        contains(
            &said,
            &["the operator is installed in namespace plimsoll-system", "Pass --namespace plimsoll-system"],
        );
    }

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("queue.json");
    std::fs::write(&file, QUEUE).unwrap();
    let created = kubectl(&["create", "--filename", file.to_str().unwrap()]);
    assert!(created.status.success(), "{}", text(&created.stderr));
    contains(
        &plimsoll(&["uninstall"]),
        &[
            "- Deployment plimsoll-system/plimsoll-operator is gone",
            "- ClusterRole plimsoll-operator is gone",
            &format!("kept: namespace plimsoll-system, {crds} CRDs, and their objects (1 Queue)"),
        ],
    );
    assert!(exists("serviceaccount/default") && !exists("serviceaccount/plimsoll-operator"));
    assert!(kubectl(&["get", "queue/orders", "--namespace=default"]).status.success());

    let (succeeded, said) = run(&kubeconfig, &["uninstall", "--purge"]);
    assert!(!succeeded);
    contains(&said, &["the cluster still has objects of the operator's kinds", "It has 1 Queue."]);
    kubectl(&["delete", "queue/orders", "--namespace=default"]);
    kubectl(&["create", "secret", "generic", "oci", "--namespace=plimsoll-system"]);
    contains(
        &plimsoll(&["uninstall", "--purge"]),
        &[
            "- CustomResourceDefinition queues.queue.oracle.com is gone",
            "kept: namespace plimsoll-system, which still contains Secret plimsoll-system/oci",
        ],
    );
    kubectl(&["delete", "secret/oci", "--namespace=plimsoll-system"]);
    contains(&plimsoll(&["uninstall", "--purge"]), &["- Namespace plimsoll-system is gone"]);
    contains(
        &plimsoll(&["uninstall", "--purge", "--namespace=default"]),
        &["nothing is installed in namespace default"],
    );
    assert!(
        kubectl(&["get", "namespace/default", "-o", "jsonpath={.metadata.deletionTimestamp}"])
            .stdout
            .is_empty()
    );
    contains(&plimsoll(&["uninstall"]), &["nothing is installed in namespace plimsoll-system"]);
}

/// The CRDs stay when an operator goes, and what installed it before holds their fields.
#[test]
fn crds_that_another_installer_left_are_taken_over() {
    let sandbox = Sandbox::dedicated("installers");
    let kubeconfig = sandbox.kubeconfig();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crd.json");
    let crds =
        objects(&super::plimsoll(&["crds", "--controllers=composition", "-o", "yaml"]).output().unwrap());
    let leave = |manager: &str, crd: &str| {
        let mut crd = crds[&format!("CustomResourceDefinition /{crd}")].clone();
        let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        schema["description"] = "As an earlier release describes it.".into();
        std::fs::write(&file, crd.to_string()).unwrap();
        let manager = format!("--field-manager={manager}");
        let applied = ["apply", "--server-side", &manager, "--filename", file.to_str().unwrap()];
        let left = sandbox.kubectl(&applied);
        assert!(left.status.success(), "{}", text(&left.stderr));
    };
    leave("helm", "functions.pkg.crossplane.io");
    leave("plimsoll-operator", "compositions.apiextensions.crossplane.io");
    let install = ["install", "--controllers=composition", "--wait", "--", "--function=web=127.0.0.1:9443"];
    contains(&done(&kubeconfig, &install), &["functions.pkg.crossplane.io"]);

    // What the flags of this operator say is known to others.
    std::fs::write(&file, FUNCTION).unwrap();
    let created = sandbox.kubectl(&["create", "--filename", file.to_str().unwrap()]);
    assert!(created.status.success(), "{}", text(&created.stderr));
    let (_, said) = run(&kubeconfig, &["doctor"]);
    contains(&said, &["web at 127.0.0.1:9443: no operator has reported on it"]);
}
