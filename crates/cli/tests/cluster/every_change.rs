//! Plans and drift reports show every difference, and nothing as a fact that only the apply decides.

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::run_with;

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-every-change").await
}

fn role(verbs: impl Fn(usize) -> Vec<&'static str>) -> Value {
    let rule = |index: usize| json!({ "apiGroups": [""], "resources": [format!("r{index}")], "verbs": verbs(index) });
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "reader" },
        "rules": (0..10).map(rule).collect::<Vec<_>>(),
    })
}

#[tokio::test]
async fn the_last_rule_of_a_role_is_shown_as_well_as_the_first() {
    let ns = namespace().await;
    ns.apply_as("plimsoll", &role(|_| vec!["get"])).await;
    let wider = role(|index| match index {
        0 => vec!["list"],
        9 => vec!["get", "*"],
        _ => vec!["get"],
    });
    for command in ["plan", "drift"] {
        let shown = run_with(&ns, &[command, "-f", "-"], &wider.to_string());
        for line in ["-   - get", "+   - list", "+   - '*'", "… 48 unchanged lines"] {
            assert!(shown.contains(line), "{command} lacks {line:?}:\n{shown}");
        }
        assert!(shown.starts_with("exit 2"), "{shown}");
    }
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("drift.xml");
    run_with(&ns, &["drift", "-f", "-", "--junit", junit.to_str().unwrap()], &wider.to_string());
    let junit = std::fs::read_to_string(junit).unwrap();
    assert!(junit.contains("+   - list") && junit.contains("+   - '*'"), "{junit}");
}

#[tokio::test]
async fn every_edit_of_a_long_text_is_shown() {
    let ns = namespace().await;
    let settings = |edited: &[usize]| {
        let mark = |number: usize| if edited.contains(&number) { ", edited" } else { "" };
        let text =
            (1..=60).map(|number| format!("line {number}{}\n", mark(number))).collect::<Vec<_>>().concat();
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "long" }, "data": { "text": text } })
    };
    ns.apply_as("plimsoll", &settings(&[])).await;
    insta::assert_snapshot!(run_with(&ns, &["plan", "-f", "-"], &settings(&[2, 30, 59]).to_string()), @"
    exit 2
    --- stdout
    ~ ConfigMap NS/long
        data.text:   held by plimsoll
            line 1
          - line 2
          + line 2, edited
            line 3
            line 4
            line 5
          … 21 unchanged lines
            line 27
            line 28
            line 29
          - line 30
          + line 30, edited
            line 31
            line 32
            line 33
          … 22 unchanged lines
            line 56
            line 57
            line 58
          - line 59
          + line 59, edited
            line 60
    --- stderr
    1 to change
    ");
    let full = run_with(&ns, &["plan", "-f", "-", "--full"], &settings(&[30]).to_string());
    assert!(full.contains("  line 1\n") && full.contains("+ line 30, edited"), "{full}");
}

#[tokio::test]
async fn a_new_object_shows_structures_in_full_and_counts_the_rest_of_a_text() {
    let ns = namespace().await;
    let shown = run_with(&ns, &["plan", "-f", "-"], &role(|_| vec!["get", "*"]).to_string());
    assert!(shown.contains("- r9"), "{shown}");
    let text = (1..=60).map(|number| format!("line {number}\n")).collect::<Vec<_>>().concat();
    let long = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "new" }, "data": { "text": text } });
    let shown = run_with(&ns, &["plan", "-f", "-"], &long.to_string());
    assert!(shown.contains("… 51 more lines, --full"), "{shown}");
}

#[tokio::test]
async fn a_port_that_the_server_allocates_is_no_fact_of_the_plan() {
    let ns = namespace().await;
    let service = |kind: &str, ports: &[u16]| {
        let ports: Vec<Value> =
            ports.iter().map(|port| json!({ "name": format!("p{port}"), "port": port })).collect();
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
            "spec": { "type": kind, "selector": { "app": "web" }, "ports": ports },
        })
    };
    ns.apply_as("plimsoll", &service("ClusterIP", &[80])).await;
    insta::assert_snapshot!(run_with(&ns, &["plan", "-f", "-"], &service("NodePort", &[80, 81]).to_string()), @r#"
    exit 2
    --- stdout
    ~ Service NS/web
        spec.externalTrafficPolicy = "Cluster"   set by the API server
        spec.ports[port=80,protocol="TCP"].nodePort = (allocated by the API server)
        spec.ports[port=81,protocol="TCP"].name = "p81"   held by plimsoll
        spec.ports[port=81,protocol="TCP"].nodePort = (allocated by the API server)
        spec.ports[port=81,protocol="TCP"].port = 81   held by plimsoll
        spec.ports[port=81,protocol="TCP"].protocol = "TCP"   set by the API server
        spec.ports[port=81,protocol="TCP"].targetPort = 81   set by the API server
        spec.type: "ClusterIP" → "NodePort"   held by plimsoll
    --- stderr
    1 to change
    "#);
    let applied = run_with(&ns, &["apply", "-f", "-"], &service("NodePort", &[80, 81]).to_string());
    assert!(!applied.contains("allocate"), "an apply knows the port: {applied}");
}
