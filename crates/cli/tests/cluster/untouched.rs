//! How few requests unchanged objects cost, as the API server's audit log counts them.

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{run_with, webhook_for};

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-untouched").await
}

/// Objects as in a file, one document each.
fn written(objects: impl Iterator<Item = Value>) -> String {
    objects.map(|object| object.to_string()).collect::<Vec<_>>().join("\n---\n")
}

/// The requests of `plimsoll` in the namespace so far, as lines of the audit log.
fn asked(ns: &Namespace) -> Vec<String> {
    let log = std::fs::read_to_string(Sandbox::shared().layout().audit_log()).expect("it is on");
    let is_ours = |line: &&str| line.contains(ns.name()) && line.contains("plimsoll/");
    // One line for each request, whatever its stages.
    let ended = log.lines().filter(is_ours).filter(|line| line.contains("\"ResponseComplete\""));
    ended.map(str::to_owned).collect()
}

/// The number of dry runs, and the number of applies.
fn dry_runs_and_applies(ns: &Namespace) -> (usize, usize) {
    let asked = asked(ns);
    let patches = asked.iter().filter(|line| line.contains("\"verb\":\"patch\""));
    let (dry, real): (Vec<_>, Vec<_>) = patches.partition(|line| line.contains("dryRun=All"));
    (dry.len(), real.len())
}

#[tokio::test]
async fn many_objects_of_a_kind_are_read_with_one_request() {
    let ns = namespace().await;
    let settings = |number: usize| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("many-{number}") }, "data": { "n": number.to_string() } });
    let input = written((0..20).map(settings));
    assert!(run_with(&ns, &["apply", "-f", "-"], &input).contains("20 created"));
    assert!(run_with(&ns, &["plan", "-f", "-"], &input).starts_with("exit 0"));
    let asked = asked(&ns);
    let gets = asked.iter().filter(|line| line.contains("\"verb\":\"get\""));
    assert_eq!(gets.filter(|line| line.contains("configmaps/many-")).count(), 0);
}

#[tokio::test]
async fn an_unchanged_object_is_neither_dry_run_nor_written_unless_a_webhook_concerns_its_kind() {
    let ns = namespace().await;
    let container = |env: &str, ports: &[u16]| {
        let env: Vec<Value> = env.chars().map(|name| json!({ "name": name, "value": "x" })).collect();
        let ports: Vec<Value> = ports.iter().map(|port| json!({ "containerPort": port })).collect();
        json!({ "name": "a", "image": "b", "env": env, "ports": ports })
    };
    let template = |number: usize| {
        json!({
            "apiVersion": "v1", "kind": "PodTemplate", "metadata": { "name": format!("t{number}") },
            "template": { "metadata": { "labels": { "app": "a" } }, "spec": { "containers": [container("BD", &[80])] } },
        })
    };
    let input = written((0..6).map(template));
    assert!(run_with(&ns, &["apply", "-f", "-"], &input).contains("6 created"));
    assert_eq!(dry_runs_and_applies(&ns), (0, 6));
    for command in ["plan", "apply"] {
        insta::allow_duplicates!(insta::assert_snapshot!(run_with(&ns, &[command, "-f", "-"], &input), @r"
        exit 0
        --- stderr
        6 unchanged
        "));
    }
    assert_eq!(dry_runs_and_applies(&ns), (0, 6));

    // Nor is one to whose keyed lists other managers add items before, between and behind ours.
    let with = |container: Value| json!({ "template": { "spec": { "containers": [container] } } });
    ns.merge_as("kubectl-edit", &template(0), &with(container("ABCDE", &[79, 80, 81]))).await;
    let mut more = template(0);
    more["template"] = with(container("F", &[82]))["template"].clone();
    let live = ns.apply_as("other-manager", &more).await;
    assert_eq!(live["template"]["spec"]["containers"][0]["env"].as_array().map(Vec::len), Some(6), "{live}");
    for command in ["plan", "apply"] {
        let output = run_with(&ns, &[command, "-f", "-"], &input);
        assert!(output.contains("6 unchanged"), "{output}");
    }
    assert_eq!(dry_runs_and_applies(&ns), (0, 6));
    // The API server agrees: it takes an apply as no change.
    let applied = ns.apply_as("plimsoll", &template(0)).await;
    assert_eq!(applied["metadata"]["resourceVersion"], live["metadata"]["resourceVersion"]);

    // Only the object that another manager changed is dry-run and written.
    let edit = json!({ "template": { "metadata": { "labels": { "app": "z" } } } });
    ns.merge_as("kubectl-edit", &template(3), &edit).await;
    for command in ["plan", "apply"] {
        let transcript = run_with(&ns, &[command, "-f", "-", "--force-conflicts"], &input);
        assert!(transcript.contains("template.metadata.labels.app: \"z\" → \"a\""), "{transcript}");
    }
    assert_eq!(dry_runs_and_applies(&ns), (1, 7));

    // Another manager has not written it yet, although every value matches.
    let transcript = run_with(&ns, &["apply", "-f", "-", "--field-manager", "other"], &input);
    assert!(transcript.contains("6 held"), "{transcript}");
    assert_eq!(dry_runs_and_applies(&ns), (1, 13));

    // It covers the kind, although its selector matches no object: only the server knows its effect.
    let hook = webhook_for(&ns, "podtemplates");
    let [planned, applied] = ["plan", "apply"].map(|command| run_with(&ns, &[command, "-f", "-"], &input));
    ns.kubectl(&["delete", "-f", hook.path().to_str().unwrap()]).unwrap();
    assert!(planned.starts_with("exit 0") && applied.starts_with("exit 0"), "{planned}\n{applied}");
    assert_eq!(dry_runs_and_applies(&ns), (7, 19));
}
