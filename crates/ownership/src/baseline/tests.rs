//! What is kept of an apply, and what can be read from what others kept.

use serde_json::json;

use super::*;

const KEY: MaskKey = MaskKey::new(7);

fn body() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "labels": { "a.b/c": "x" } },
        "spec": { "replicas": 3, "template": { "spec": { "containers": [{ "name": "web", "image": "web:1" }] } } },
    })
}

fn answer() -> Value {
    let mut answer = body();
    answer["metadata"]["managedFields"] = json!([{
        "manager": "k8sconnect", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": { "f:labels": { "f:a.b/c": {} } },
            "f:spec": { "f:replicas": {}, "f:template": { "f:spec": { "f:containers": { "k:{\"name\":\"web\"}": {
                ".": {}, "f:name": {}, "f:image": {} } } } } },
        },
    }, {
        "manager": "argocd", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "fieldsV1": { "f:spec": { "f:replicas": {} } },
    }]);
    answer
}

fn record(answer: &Value, written: &Value) -> Baseline {
    let manager = FieldManager::new("k8sconnect");
    Baseline::record(&Observed::new(answer.clone()).unwrap(), &Desired::new(&manager, written), &KEY)
}

fn baseline() -> Baseline {
    let ignored = IgnoreFields::parse(["metadata.labels['a.b/c']"]).unwrap();
    let (answer, manager, body) = (answer(), FieldManager::new("k8sconnect"), body());
    Baseline::record(&Observed::new(answer).unwrap(), &Desired::new(&manager, &body).ignoring(&ignored), &KEY)
}

#[test]
fn every_written_field_is_kept_with_all_its_holders() {
    insta::assert_snapshot!(baseline().to_value().to_string(), @r#"{"by":[["k8sconnect"],["argocd","k8sconnect"]],"fields":{"f:metadata":{"f:labels":{"f:a.b/c":["x",0,"value",true]}},"f:spec":{"f:replicas":[3,1],"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":["web:1"],"f:name":["web"]}}}}}}}"#);
}

#[test]
fn what_is_stored_reads_back() {
    assert_eq!(Baseline::from_value(&baseline().to_value(), None, &KEY).unwrap(), baseline());
    for broken in [
        json!([]),
        json!({ "by": [[]], "fields": { "x:y": [1] } }),
        json!({ "by": [[]], "fields": { "f:a": 1 } }),
        json!({ "by": [], "fields": { "f:a": [1] } }),
        json!({ "by": [[]], "fields": { "f:a": [1, 0, "other"] } }),
        json!({ "by": [["x"]], "fields": {}, "rest": true }),
    ] {
        let error = Baseline::from_value(&broken, None, &KEY).unwrap_err();
        assert_eq!(error.to_string(), "the stored ownership baseline is malformed", "{broken}");
    }
}

#[test]
fn what_the_body_beside_it_says_is_not_stored_again() {
    let check = |written: &Value, answer: &Value, expected: &str| {
        let baseline = record(answer, written);
        let stored = baseline.to_value_beside(written, &KEY);
        assert_eq!(stored.to_string(), expected);
        assert_eq!(Baseline::from_value(&stored, Some(written), &KEY).unwrap(), baseline);
    };
    check(
        &body(),
        &answer(),
        r#"{"by":[["k8sconnect"],["argocd","k8sconnect"]],"fields":{"f:spec":{"f:replicas":[3,1]}},"rest":true}"#,
    );
    // What the API server made something else of.
    let mut written = body();
    written["spec"]["replicas"] = json!("3");
    check(
        &written,
        &answer(),
        r#"{"by":[["k8sconnect"],["argocd","k8sconnect"]],"fields":{"f:spec":{"f:replicas":[3,1]}},"rest":true}"#,
    );
    // Values of Secrets are masked here and in clear there.
    let mut secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "db" }, "data": { "k": "aGk=" } });
    let written = secret.clone();
    secret["metadata"] = json!({ "name": "db", "namespace": "default", "managedFields": [{
        "manager": "k8sconnect", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": { "f:data": { "f:k": {} } },
    }] });
    check(&written, &secret, r#"{"by":[["k8sconnect"]],"rest":true}"#);
}

#[test]
fn a_list_that_only_the_answer_knows_the_keys_of_is_stored_whole() {
    let written = json!({ "apiVersion": "a.b/v1", "kind": "C", "metadata": { "name": "c" }, "spec": { "stops": [{ "id": 1, "at": 2 }] } });
    let mut answer = written.clone();
    answer["metadata"]["managedFields"] = json!([{
        "manager": "k8sconnect", "operation": "Apply", "apiVersion": "a.b/v1", "fieldsType": "FieldsV1",
        "fieldsV1": { "f:spec": { "f:stops": { "k:{\"id\":1}": { ".": {}, "f:id": {}, "f:at": {} } } } },
    }]);
    let baseline = record(&answer, &written);
    assert_eq!(baseline.to_value_beside(&written, &KEY), baseline.to_value());
}

#[test]
fn every_kind_of_value_reads_back_also_of_fields_above_others() {
    let path = |names: &[&str]| FieldPath::of_fields(names.iter().copied());
    let field = |value: Remembered, managers: &[&str], ignored: bool| BaselineField {
        managers: managers.iter().map(|name| FieldManager::new(*name)).collect(),
        value,
        ignored,
    };
    let fields = BTreeMap::from([
        (path(&["a"]), field(Remembered::Value(json!({})), &[], false)),
        (path(&["a", "b"]), field(Remembered::Absent, &["x"], false)),
        (path(&["a", "b", "c"]), field(Remembered::Text("t".to_owned()), &["x", "y"], true)),
        (path(&["d"]), field(Remembered::Unknown, &[], true)),
        (path(&["e"]), field(Remembered::Value(Value::Null), &["x"], false)),
    ]);
    let (paths, fields) = fields.into_iter().unzip();
    let baseline = Baseline { paths, fields };
    assert_eq!(Baseline::from_value(&baseline.to_value(), None, &KEY).unwrap(), baseline);
}

#[test]
fn the_go_provider_finds_its_own_format() {
    let former = baseline().to_former(&body());
    let expected = [
        ("spec.replicas", "argocd"),
        ("spec.template.spec.containers[0].image", "k8sconnect"),
        ("spec.template.spec.containers[0].name", "k8sconnect"),
    ];
    assert_eq!(former.iter().map(|(path, manager)| (&**path, &**manager)).collect::<Vec<_>>(), expected);
}

#[test]
fn a_state_of_the_go_provider_becomes_a_baseline() {
    let projection = [("spec.replicas", "3"), ("spec.template.spec.containers[0].image", "web:1")];
    let projection = projection.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
    let managers: BTreeMap<String, FormerManagers> = serde_json::from_value(json!({
        "spec.replicas": ["k8sconnect", "hpa"], "spec.template.spec.containers[0].image": "k8sconnect",
    }))
    .unwrap();
    let baseline = Baseline::from_former(&body(), &projection, &managers, &IgnoreFields::default(), &KEY);
    let field = |path: &str| baseline.iter().find(|(key, _)| key.to_string() == path).unwrap().1;
    assert_eq!(field("spec.replicas").value, Remembered::Text("3".to_owned()));
    assert_eq!(field("spec.replicas").managers.len(), 2);
    assert_eq!(field("spec.template.spec.containers[name=web].image").managers.len(), 1);
    // Its projection lost keys with dots; of those nothing is claimed.
    assert_eq!(field("metadata.labels.a.b/c").value, Remembered::Unknown);
}

#[test]
fn what_the_go_provider_kept_of_a_secret_is_kept_masked() {
    let secret = |value: &str| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "db" }, "data": { "password": value } });
    let projection = BTreeMap::from([("data.password".to_owned(), "aHVudGVyMg==".to_owned())]);
    let baseline = Baseline::from_former(
        &secret("aHVudGVyMg=="),
        &projection,
        &BTreeMap::new(),
        &IgnoreFields::default(),
        &KEY,
    );
    for text in [format!("{baseline:?}"), baseline.to_value().to_string()] {
        assert!(!text.contains("aHVudGVyMg"), "{text}");
    }
    // The live object says its namespace, and the same value has the same mask.
    let mut live = secret("aHVudGVyMg==");
    live["metadata"]["namespace"] = json!("default");
    let field = &baseline.fields[0];
    let shown = View::of(&live, &KEY).object["data"]["password"].as_str().unwrap().to_owned();
    assert_eq!(field.value, Remembered::Text(shown));
}
