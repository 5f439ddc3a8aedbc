//! Compares with structured-merge-diff and apimachinery: thousands of cases a run, and every difference is a failure
//! unless [`is_known_difference`] lists it.
//!
//! The cases are the same in every run; `PLIMSOLL_SEED=<number>` makes others, `PLIMSOLL_CASES=<number>` more of them.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use testkit::oracle::Oracle;
use testkit::seed;

use crate::schema::built_in_object;
use crate::{FieldSet, Quantity, Schema, arbitrary, written};

/// Every way in which reading a set may come out differently from Go. Beyond what is generated here there is one more:
/// text nested deeper than 128 levels is refused, as in every JSON we read.
fn is_known_difference(wire: &str, ours: Result<&str, &str>) -> bool {
    // A position below zero names nothing; no server writes one.
    wire.contains("\"i:-") && ours.is_err()
}

/// Generates cases, asks Go about all of them at once and hands each with Go's answer to `check`.
fn compare<T: std::fmt::Debug>(
    op: &str,
    cases: u32,
    strategy: impl Strategy<Value = T>,
    question: impl Fn(&T) -> Value,
    check: impl Fn(&T, Result<&Value, &str>) -> Result<(), String>,
) {
    let (seed, cases) = (seed::usual(op), seed::cases(cases));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);

    let cases: Vec<T> = (0..cases).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    let answers = Oracle::shared().ask_all(op, cases.iter().map(question));
    for (case, answer) in cases.iter().zip(&answers) {
        if let Err(difference) = check(case, answer.as_ref().map_err(String::as_str)) {
            panic!("{op} (PLIMSOLL_SEED={seed}): {difference}\ncase: {case:?}");
        }
    }
}

fn same<T: PartialEq + std::fmt::Debug>(theirs: &T, ours: &T) -> Result<(), String> {
    if theirs == ours { Ok(()) } else { Err(format!("\nGo:   {theirs:?}\nours: {ours:?}")) }
}

#[test]
fn sets_are_written_byte_for_byte_as_in_go() {
    compare(
        "fieldset.normalize",
        3000,
        arbitrary::set(),
        |set| json!(set.to_json()),
        |set, theirs| same(&theirs, &Ok(&json!(set.to_json()))),
    );
}

#[test]
fn sets_are_read_as_in_go() {
    compare(
        "fieldset.normalize",
        6000,
        wire(3),
        |wire| json!(wire),
        |wire, theirs| {
            let theirs = theirs.map(|text| text.as_str().unwrap_or_default());
            let read = FieldSet::from_json(wire).map(|set| set.to_json()).map_err(|error| error.to_string());
            let ours = read.as_deref().map_err(String::as_str);
            // Error texts are for people and differ; whether there is an error does not.
            let outcome = |outcome: Result<&str, &str>| outcome.map(str::to_owned).map_err(|_| "refused");
            if is_known_difference(wire, ours) { Ok(()) } else { same(&outcome(theirs), &outcome(ours)) }
        },
    );
}

#[test]
fn set_algebra_is_that_of_go() {
    let pairs = (arbitrary::set(), arbitrary::set(), any::<u64>()).prop_map(|(left, other, choice)| {
        // Sets that share most of their paths show more than strangers do.
        let right = arbitrary::some_of(&left, choice).union(&arbitrary::some_of(&other, !choice));
        (left, right)
    });
    let question =
        |(left, right): &(FieldSet, FieldSet)| json!({"left": left.to_json(), "right": right.to_json()});
    compare("fieldset.algebra", 1500, pairs, question, |(left, right), theirs| {
        let ours = json!({
            "union": left.union(right).to_json(),
            "intersection": left.intersection(right).to_json(),
            "difference": left.difference(right).to_json(),
            "recursiveDifference": left.recursive_difference(right).to_json(),
            "leaves": left.clone().leaves().to_json(),
            "equal": left == right,
            "size": left.len(),
        });
        same(&theirs, &Ok(&ours))
    });
}

#[test]
fn manifests_write_the_fields_that_go_says() {
    let any_kind = prop_oneof![4 => arbitrary::deployment(), 1 => select(manifests())];
    compare("fieldset.written", 1000, any_kind, Clone::clone, |body, theirs| {
        same(&theirs, &Ok(&json!(written(body, &Schema::of(body)).to_json())))
    });
}

#[test]
fn the_table_of_built_in_kinds_agrees_with_go() {
    let accepted = Cell::new(0);
    compare("fieldset.written", 2000, built_in_object(), Clone::clone, |body, theirs| {
        // An object made from the table alone may have text where there has to be a number.
        let Ok(theirs) = theirs else { return Ok(()) };
        accepted.set(accepted.get() + 1);
        same(&theirs, &&json!(written(body, &Schema::of(body)).to_json()))
    });
    println!("{} objects were accepted", accepted.get());
    assert!(accepted.get() > 500);
}

#[test]
fn quantities_have_the_value_that_go_says() {
    compare(
        "quantity.decimal",
        5000,
        quantity(),
        |text| json!(text),
        |text, theirs| {
            let theirs = theirs.ok().and_then(Value::as_str).map(|decimal| Quantity::parse(decimal).unwrap());
            same(&theirs, &Quantity::parse(text))
        },
    );
}

/// FieldsV1 text, sometimes in another order than the server's, sometimes with what no server writes.
fn wire(depth: u32) -> BoxedStrategy<String> {
    let element = prop_oneof![
        8 => arbitrary::element().prop_map(|element| element.to_wire()),
        4 => select(vec!["f:a", "f:b", "f:c", "."]).prop_map(str::to_owned),
        1 => select(vec![
            "", "f", "f:", "x:later", "a.b", "i:0", "i:+1", "i:-1", "i:x", "i:", "v:", "v:1 2", "v: 3", "v:[1,{\"b\":null}]",
            "v:{", "v:nul", "k:", "k:{}", "k:{ \"b\": 1, \"a\" : 2 }", "k:{\"a\":1,\"a\":2}", "k:{\"a\":1} x", "k:{\"a\":1",
            "k:[]", "k:null", "é:",
        ])
        .prop_map(str::to_owned),
    ];
    let below = if depth == 0 {
        Just("{}".to_owned()).boxed()
    } else {
        prop_oneof![8 => Just("{}".to_owned()), 6 => wire(depth - 1), 1 => select(vec!["null", "1", "[]", "\"\""]).prop_map(str::to_owned)].boxed()
    };
    let entry = (element, below).prop_map(|(element, below)| format!("{}:{below}", Value::from(element)));
    prop::collection::vec(entry, 0..5).prop_map(|entries| format!("{{{}}}", entries.join(", "))).boxed()
}

fn quantity() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        4 => "[0-9]{1,4}",
        2 => "[0-9]{1,3}\\.[0-9]{1,12}",
        1 => "[0-9]{15,25}",
        1 => "[1-9][0-9]{0,2}\\.",
        1 => "\\.[0-9]{1,3}",
    ];
    let suffix = select(vec![
        "", "", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3",
        "E-3", "e+2", "e-12", "e20", "e", "i", "Kim", "mm", "x", " ",
    ]);
    let sign = select(vec!["", "", "", "-", "+"]);
    (sign, number, suffix).prop_map(|(sign, number, suffix)| format!("{sign}{number}{suffix}"))
}

/// Manifests that have between them every kind of list and map there is.
fn manifests() -> Vec<Value> {
    vec![
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "annotations": {"x.y/z": "1"}}, "spec": {
            "selector": {"app": "a"}, "clusterIPs": ["10.0.0.1"],
            "ports": [{"port": 80, "targetPort": "http"}, {"port": 80, "protocol": "UDP", "targetPort": 53}],
        }}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "ownerReferences": [
            {"uid": "1", "kind": "Pod", "name": "p", "apiVersion": "v1"},
        ]}, "data": {"app.conf": "x", "": "y"}, "binaryData": {}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"k": "v"}, "data": null}),
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "a"}, "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "claimRef": {"name": "c", "namespace": "n"},
            "csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"a": "b"}, "nodeStageSecretRef": {"name": "s"}},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}},
        }}),
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a"}, "spec": {
            "serviceName": "a", "selector": {"matchLabels": {"a": "b"}},
            "updateStrategy": {"rollingUpdate": {"maxUnavailable": "50%"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
                "hostAliases": [{"ip": "1.1.1.1", "hostnames": ["x"]}], "imagePullSecrets": [{"name": "s"}, {}],
                "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}],
                "containers": [{"name": "a", "envFrom": [{"secretRef": {"name": "s"}}],
                    "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}, {"name": "A"}, {"value": "no name"}],
                    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                    "securityContext": {"capabilities": {"add": ["NET_ADMIN"]}}}],
            }},
            "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}],
        }}),
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "a"}, "spec": {
            "tls": [{"hosts": ["h"]}], "rules": [{"host": "h", "http": {"paths": []}}], "defaultBackend": {},
        }}),
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "a"}, "spec": {
            "podSelector": {}, "ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 80}]}],
        }}),
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": {
            "maxReplicas": 3, "metrics": [{"type": "Resource"}], "behavior": {"scaleDown": {"policies": []}},
        }}),
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"}, "spec": {"jobTemplate": {"spec": {
            "podFailurePolicy": {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 2]}}]},
            "template": {"spec": {"containers": [{"name": "c"}], "restartPolicy": "Never"}},
        }}}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a"},
            "rules": [{"verbs": ["get"]}], "aggregationRule": {"clusterRoleSelectors": []}}),
        json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "a"}, "revision": 1,
            "data": {"spec": {"deep": {"x": [1, {"y": 2}], "empty": {}}}}}),
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "a"},
            "webhooks": [{"name": "w", "sideEffects": "None", "rules": [{"operations": ["CREATE"]}],
                "matchConditions": [{"name": "m", "expression": "true"}], "namespaceSelector": {"matchLabels": {}}}]}),
    ]
}

#[test]
fn values_print_as_with_go_s_verb() {
    compare(
        "json.verb",
        3000,
        arbitrary::value(),
        |value| json!(value.to_string()),
        |value, theirs| same(&theirs, &Ok(&json!(crate::jsonpath::go_text(value)))),
    );
}
