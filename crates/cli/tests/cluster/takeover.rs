//! Objects that `kubectl apply` wrote: taken over as `kubectl apply --server-side` does, and shown before.

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{plimsoll, run_with, with_input};

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-takeover").await
}

fn settings(data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": data })
}

fn kubectl_apply(ns: &Namespace, object: &Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("object.json");
    std::fs::write(&path, object.to_string()).expect("the folder is ours");
    ns.kubectl(&["apply", "-f", path.to_str().expect("a simple path")]).expect("kubectl applies");
}

#[tokio::test]
async fn what_kubectl_applied_is_taken_over_and_a_removed_key_goes() {
    let ns = namespace().await;
    kubectl_apply(&ns, &settings(&json!({ "colour": "red", "old": "x" })));
    let input = settings(&json!({ "colour": "blue" })).to_string();
    insta::assert_snapshot!(run_with(&ns, &["plan", "-f", "-"], &input), @r#"
    exit 2
    --- stdout
    ~ ConfigMap NS/settings
        data.colour: "red" → "blue"   held by kubectl-client-side-apply, then by plimsoll
        data.old: "x" → (none)   held by kubectl-client-side-apply
        takes over what kubectl-client-side-apply applied
    --- stderr
    1 to change
    "#);
    let applied = run_with(&ns, &["apply", "-f", "-"], &input);
    assert!(applied.starts_with("exit 0"), "{applied}");
    let live = ns.get(&settings(&json!({}))).await.unwrap();
    assert_eq!(live["data"], json!({ "colour": "blue" }));
    let managers: Vec<&str> = live["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["manager"].as_str().unwrap())
        .collect();
    assert_eq!(managers, ["plimsoll"], "{live}");
    assert!(live["metadata"]["annotations"].is_null(), "{live}");
    assert!(run_with(&ns, &["plan", "-f", "-"], &input).starts_with("exit 0"));
}

#[tokio::test]
async fn the_plan_of_a_takeover_is_what_the_apply_does() {
    let ns = namespace().await;
    let deployment = |replicas: Option<u8>, env: &[&str]| {
        let env: Vec<Value> = env.iter().map(|name| json!({ "name": name, "value": "x" })).collect();
        let mut object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "labels": { "tier": "front" } },
            "spec": {
                "selector": { "matchLabels": { "app": "web" } },
                "template": {
                    "metadata": { "labels": { "app": "web" } },
                    "spec": { "containers": [{ "name": "web", "image": "nginx", "env": env }] },
                },
            },
        });
        if let Some(replicas) = replicas {
            object["spec"]["replicas"] = json!(replicas);
        }
        object
    };
    kubectl_apply(&ns, &deployment(Some(0), &["A", "B"]));
    // Without replicas, the server's default takes their place.
    let mut input = deployment(None, &["A"]);
    input["metadata"].as_object_mut().unwrap().remove("labels");
    input["spec"]["paused"] = json!(true);
    let changes = |command: &str| {
        let output = with_input(plimsoll(&ns, &[command, "-f", "-", "-o", "json"]), &input.to_string());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let fields = report["objects"][0]["fields"].as_array().unwrap().clone();
        fields
            .into_iter()
            .map(|it| format!("{}: {} → {}", it["field"], it["old"], it["new"]))
            .collect::<Vec<_>>()
    };
    let planned = changes("plan");
    assert!(planned.contains(&r#""spec.replicas": 0 → 1"#.to_owned()), "{planned:#?}");
    assert_eq!(planned, changes("apply"));
    assert!(run_with(&ns, &["plan", "-f", "-"], &input.to_string()).starts_with("exit 0"));
}

#[tokio::test]
async fn fields_of_a_third_manager_stay_in_conflict() {
    let ns = namespace().await;
    kubectl_apply(&ns, &settings(&json!({ "colour": "red", "size": "s" })));
    ns.merge_as("kubectl-edit", &settings(&json!({})), &json!({ "data": { "size": "m" } })).await;
    let input = settings(&json!({ "colour": "blue", "size": "l" })).to_string();
    for command in ["plan", "apply"] {
        let output = run_with(&ns, &[command, "-f", "-"], &input);
        assert!(output.starts_with("exit 1"), "{output}");
        assert!(output.contains("data.size (managed by kubectl-edit)"), "{output}");
        assert!(!output.contains("managed by kubectl-client-side-apply"), "{output}");
    }
    assert_eq!(ns.get(&settings(&json!({}))).await.unwrap()["data"]["colour"], "red");
}
