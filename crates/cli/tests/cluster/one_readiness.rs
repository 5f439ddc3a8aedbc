//! `apply --wait`, `wait`, `why` and `tree` give one answer on whether an object is ready.

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{plimsoll, run, run_with, with_input};

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-readiness").await
}

/// A kind whose CRD publishes a status with conditions; its name is unique, because kinds outlive a test.
fn kind_with_conditions(ns: &Namespace) -> (String, String) {
    let (group, short) = (format!("{}.example.org", ns.name()), ns.name().replace('-', ""));
    let condition = json!({ "type": "object", "properties": { "type": { "type": "string" }, "status": { "type": "string" }, "message": { "type": "string" } } });
    let status =
        json!({ "type": "object", "properties": { "conditions": { "type": "array", "items": condition } } });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{short}s.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "names": { "kind": "Gadget", "plural": format!("{short}s"), "singular": short },
            "versions": [{ "name": "v1", "served": true, "storage": true, "subresources": { "status": {} }, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true }, "status": status },
            } } }],
        },
    });
    let output = run_with(ns, &["apply", "-f", "-", "--wait"], &crd.to_string());
    assert!(output.starts_with("exit 0"), "{output}");
    (format!("{group}/v1"), short)
}

/// What each command says: whether the object is ready.
fn answers(ns: &Namespace, object: &Value, name: &str) -> Vec<(&'static str, bool)> {
    let is_zero = |output: &str| output.starts_with("exit 0");
    let apply = run_with(ns, &["apply", "-f", "-", "--wait", "--timeout", "1s"], &object.to_string());
    let is_claim = object["kind"] == "PersistentVolumeClaim";
    let goal = if is_claim { "value=status.phase=Bound" } else { "rollout" };
    let wait = run(ns, &["wait", name, "--for", goal, "--timeout", "1s"]);
    let why = run(ns, &["why", name]);
    let tree = run(ns, &["tree", name, "-o", "json"]);
    vec![
        ("apply --wait", is_zero(&apply)),
        ("wait", is_zero(&wait)),
        ("why", is_zero(&why)),
        ("tree", !tree.contains("\"health\": \"waiting\"") && !tree.contains("\"health\": \"failed\"")),
    ]
}

#[tokio::test]
async fn every_command_gives_the_same_answer() {
    let ns = namespace().await;
    let (version, short) = kind_with_conditions(&ns);
    let gadget = json!({ "apiVersion": version, "kind": "Gadget", "metadata": { "name": "g" }, "spec": {} });
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "data" },
        "spec": { "storageClassName": "none-such", "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    });
    let check = |what: &str, object: &Value, name: &str, expected: bool| {
        for (command, ready) in answers(&ns, object, name) {
            assert_eq!(ready, expected, "{command}: {what}");
        }
    };
    let name = format!("{short}/g");
    check("an empty status, where the CRD publishes conditions", &gadget, &name, false);
    let report = |conditions: Value| {
        let patch = json!({ "status": { "conditions": conditions } }).to_string();
        ns.kubectl(&["patch", &name, "--subresource=status", "--type=merge", "--patch", &patch]).unwrap();
    };
    report(json!([{ "type": "Synced", "status": "False", "message": "no quota" }]));
    check("Synced=False without Ready", &gadget, &name, false);
    report(json!([{ "type": "Synced", "status": "True" }, { "type": "Ready", "status": "True" }]));
    check("Synced and Ready", &gadget, &name, true);
    check("a claim for a missing StorageClass", &claim, "pvc/data", false);
}

#[tokio::test]
async fn the_wait_of_an_apply_is_part_of_its_json() {
    let ns = namespace().await;
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "data" },
        "spec": { "storageClassName": "none-such", "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    });
    let settings = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" } });
    let input = format!("{claim}\n---\n{settings}");
    let output =
        with_input(plimsoll(&ns, &["apply", "-f", "-", "--wait", "--timeout", "1s", "-o", "json"]), &input);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let of = |name: &str| report["objects"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(of("data")["wait"]["ready"], false, "{report:#}");
    assert_eq!(of("data")["wait"]["finding"]["code"], "wait-timed-out", "{report:#}");
    assert_eq!(of("settings")["wait"]["ready"], true, "{report:#}");
}
