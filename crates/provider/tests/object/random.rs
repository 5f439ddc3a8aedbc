//! For many random objects, an apply does what its plan says: Terraform itself checks, and a second plan is empty.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use testkit::terraform::Client;

use crate::case::Case;

const OBJECTS: usize = 25;
const ROUNDS: usize = 8;

/// An object of one of four kinds, and its ignored fields.
fn object(kind: usize) -> BoxedStrategy<(Value, Vec<&'static str>)> {
    let labels = texts(&["app.kubernetes.io/name", "team", "a"]);
    let content = match kind {
        0 => texts(&["a", "app.conf", "level", "x_y"])
            .prop_map(|data| json!({"kind": "ConfigMap", "data": data}))
            .boxed(),
        1 => texts(&["user", "pass.word"])
            .prop_map(|data| json!({"kind": "Secret", "stringData": data}))
            .boxed(),
        2 => ports()
            .prop_map(|ports| json!({"kind": "Service", "spec": {"ports": ports, "selector": {"a": "b"}}}))
            .boxed(),
        _ => deployment().boxed(),
    };
    let ignored = subsequence(vec!["metadata.labels", "spec.replicas", "metadata.labels['team']"], 0..=2);
    (content, labels, ignored)
        .prop_map(move |(mut object, labels, ignored)| {
            object["apiVersion"] = json!(if kind == 3 { "apps/v1" } else { "v1" });
            object["metadata"] = json!({"labels": labels});
            (object, ignored)
        })
        .boxed()
}

fn texts(keys: &[&'static str]) -> impl Strategy<Value = Map<String, Value>> + use<> {
    let keys = subsequence(keys.to_vec(), 0..=keys.len());
    (keys, select(vec!["", "1", "yes", "b", "0.10"]))
        .prop_map(|(keys, value)| keys.into_iter().map(|key| (key.to_owned(), json!(value))).collect())
}

/// At least one port, in any order; two share a number.
fn ports() -> impl Strategy<Value = Vec<Value>> {
    let all = vec![
        json!({"name": "dns-tcp", "port": 53, "protocol": "TCP"}),
        json!({"name": "dns-udp", "port": 53, "protocol": "UDP"}),
        json!({"name": "web", "port": 80}),
    ];
    subsequence(all, 1..=3).prop_shuffle()
}

fn deployment() -> impl Strategy<Value = Value> {
    let container = (select(vec!["web:1", "web:2"]), select(vec!["100m", "0.1", "1"]), texts(&["A", "B"]))
        .prop_map(|(image, cpu, env)| {
            let env: Vec<Value> =
                env.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
            json!({"image": image, "env": env, "resources": {"requests": {"cpu": cpu, "memory": "1024Mi"}}})
        });
    let names = subsequence(vec!["main", "proxy", "log"], 1..=3).prop_shuffle();
    (0..3, names, container).prop_map(|(replicas, names, container)| {
        let named = |name: &str| {
            let mut container = container.clone();
            container["name"] = json!(name);
            container
        };
        let containers: Vec<Value> = names.into_iter().map(named).collect();
        json!({"kind": "Deployment", "spec": {
            "paused": true, "replicas": replicas, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}},
        }})
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_never_differs_from_its_apply() {
    let case = Case::new("random", Client::any()).await;
    let mut runner = TestRunner::deterministic();
    for round in 0..ROUNDS {
        for number in 0..OBJECTS {
            let made = object(number % 4).new_tree(&mut runner).expect("every kind can be made");
            let (mut object, ignored) = made.current();
            object["metadata"]["name"] = json!(format!("o{number}"));
            object["metadata"]["namespace"] = json!(case.namespace.name());
            case.workspace.write(&format!("o{number}.json"), &object.to_string());
            case.workspace.write(
                &format!("o{number}.tf"),
                &format!(
                    "resource \"k8sconnect_object\" \"o{number}\" {{\n  yaml_body = file(\"o{number}.json\")\n  \
                     ignore_fields = {ignored:?}\n}}\n"
                ),
            );
        }
        let applied = case.workspace.apply(&[]).expect_success().text();
        assert!(!applied.contains("inconsistent"), "round {round}: {applied}");
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    }
}
