use serde_json::{Value, json};

use super::*;
use crate::object::object;

fn composition(spec: &Value) -> Object {
    let mut whole = json!({"compositeTypeRef": {"apiVersion": "example.org/v1", "kind": "X"}});
    for (key, value) in spec.as_object().unwrap() {
        whole[key] = value.clone();
    }
    object(json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "c"}, "spec": whole,
    }))
}

fn findings(spec: &Value) -> String {
    let line = |d: &Diagnostic| format!("[{}] {}: {}", d.code, d.field.as_deref().unwrap_or("-"), d.summary);
    let errors = Composition::read(&composition(spec)).err().unwrap_or_default();
    errors.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn step(name: &str) -> Value {
    json!({"step": name, "functionRef": {"name": "f"}})
}

#[test]
fn a_composition_says_what_runs_with_what() {
    let mut first = step("first");
    first["input"] = json!({"apiVersion": "x/v1", "kind": "Input", "n": 1});
    first["credentials"] =
        json!([{"name": "aws", "source": "Secret", "secretRef": {"namespace": "n", "name": "s"}}]);
    first["requirements"] = json!({
        "requiredResources": [
            {"requirementName": "named", "apiVersion": "v1", "kind": "ConfigMap", "namespace": "n", "name": "c"},
            {"requirementName": "labelled", "apiVersion": "v1", "kind": "ConfigMap", "matchLabels": {"a": "b"}},
            {"requirementName": "all", "apiVersion": "v1", "kind": "Namespace"},
        ],
        "requiredSchemas": [{"requirementName": "schema", "apiVersion": "apps/v1", "kind": "Deployment"}],
    });
    let read =
        Composition::read(&composition(&json!({"mode": "Pipeline", "pipeline": [first, step("second")]})))
            .unwrap();
    assert_eq!(read.spec.composite_type_ref.to_string(), "example.org/v1/X");
    let first = &read.spec.pipeline[0];
    assert_eq!(first.input.as_ref().unwrap()["n"], 1);
    assert_eq!(first.credentials[0].secret_ref.as_ref().unwrap().name, "s");
    let matching: Vec<_> =
        first.requirements.resources().into_values().map(|selector| selector.matching).collect();
    let labels = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    assert_eq!(matching, [Match::All, Match::Labels(labels), Match::Name("c".to_owned())]);
    assert_eq!(first.requirements.schemas()["schema"].kind, "Deployment");
    assert!(read.spec.pipeline[1].input.is_none());
}

#[test]
fn findings_name_the_field() {
    assert_eq!(findings(&json!({"pipeline": [step("a")]})), "");
    insta::assert_snapshot!(findings(&json!({"mode": "Resources", "resources": []})), @r#"[composition-mode] spec.mode: mode "Resources" is not supported"#);
    let mut broken = step("a");
    broken["credentials"] = json!([{"name": "x", "source": "Secret"}, {"name": "x", "source": "None"}]);
    broken["requirements"] = json!({"requiredResources": [
        {"requirementName": "r", "apiVersion": "v1", "kind": "K", "name": "n", "matchLabels": {}},
        {"requirementName": "r", "apiVersion": "v1", "kind": "K"},
    ]});
    insta::assert_snapshot!(findings(&json!({"pipeline": [step("a"), broken]})), @r#"
    [composition-pipeline] spec.pipeline[1].step: duplicate step name "a"
    [composition-credentials] spec.pipeline[1].credentials[0].secretRef: credentials "x" name no Secret
    [composition-credentials] spec.pipeline[1].credentials[1].name: duplicate credentials "x" in this step
    [composition-requirement] spec.pipeline[1].requirements.requiredResources[1].requirementName: duplicate requirement "r" in this step
    [composition-requirement] spec.pipeline[1].requirements.requiredResources[0]: requirement "r" selects by both name and labels
    "#);
    let many: Vec<Value> = (0..100).map(|i| step(&i.to_string())).collect();
    insta::assert_snapshot!(findings(&json!({"pipeline": many})), @"[composition-pipeline] spec.pipeline: the pipeline has 100 steps instead of 1 to 99");
    insta::assert_snapshot!(findings(&json!({"pipeline": [{"step": "a"}]})), @"[composition-unreadable] spec.pipeline[0]: cannot read spec.pipeline[0]: missing field `functionRef`");
}
