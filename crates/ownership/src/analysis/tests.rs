//! What happens in a cluster, and the rows its fields fall into.

use fields::{FieldSet, IgnoreFields};
use serde_json::{Value, json};

use super::*;
use crate::row::Level::{NotKept, Note, Silent, Warning};

/// A Deployment with these replicas and label, and with managedFields that say who holds which of them.
fn deployment(replicas: Option<u32>, label: Option<&str>, holders: &[(&str, &[&str])]) -> Value {
    let entries: Vec<Value> = holders
        .iter()
        .map(|(manager, held)| {
            let mut fields = json!({});
            for path in *held {
                match *path {
                    "replicas" => fields["f:spec"]["f:replicas"] = json!({}),
                    "label" => fields["f:metadata"]["f:labels"]["f:app.kubernetes.io/name"] = json!({}),
                    other => unreachable!("{other}"),
                }
            }
            json!({ "manager": manager, "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields })
        })
        .collect();
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "web", "namespace": "shop", "managedFields": entries },
    });
    if let Some(replicas) = replicas {
        object["spec"]["replicas"] = replicas.into();
    }
    if let Some(label) = label {
        object["metadata"]["labels"]["app.kubernetes.io/name"] = label.into();
    }
    object
}

fn written(replicas: Option<u32>, label: Option<&str>) -> Value {
    let mut body = deployment(replicas, label, &[]);
    body["metadata"].as_object_mut().unwrap().remove("managedFields");
    body
}

fn observed(object: &Value) -> Observed {
    Observed::new(object.clone()).unwrap()
}

fn ignoring(field: &str) -> IgnoreFields {
    IgnoreFields::parse(Some(field).filter(|field| !field.is_empty())).unwrap()
}

fn record(answer: &Value, body: &Value) -> Baseline {
    Baseline::record(&observed(answer), &Desired::new(&FieldManager::new(US), body), &KEY)
}

const US: &str = "k8sconnect";
const KEY: MaskKey = MaskKey::new(7);
const BOTH: &[&str] = &["replicas", "label"];
const REPLICAS: &[&str] = &["replicas"];

/// What we applied last: the body, and the record of the API server's answer to it.
struct Last {
    body: Value,
    baseline: Baseline,
}

fn applied(replicas: u32, ignored: &str) -> Last {
    let body = written(Some(replicas), None);
    let holders: &[(&str, &[&str])] =
        if ignored.is_empty() { &[(US, REPLICAS)] } else { &[("hpa", REPLICAS)] };
    let answer = deployment(Some(replicas), None, holders);
    let (manager, ignored) = (FieldManager::new(US), ignoring(ignored));
    let desired = Desired::new(&manager, &body).ignoring(&ignored);
    let baseline = Baseline::record(&observed(&answer), &desired, &KEY);
    Last { body, baseline }
}

/// The row of spec.replicas and what is said about it.
fn replicas(last: &Last, now: &Value, ignored: &str, live: &Value, planned: &Value) -> (u8, Level) {
    let manager = FieldManager::new(US);
    let prior = Prior::Applied { written: &last.body, baseline: &last.baseline };
    let ignored = ignoring(ignored);
    let desired = Desired::new(&manager, now).ignoring(&ignored);
    let analysis = Analysis::new(&desired, prior, &observed(live), &observed(planned), &KEY);
    let [field] = &analysis.fields[..] else { panic!("one field: {analysis:?}") };
    assert_eq!(analysis.print(field), "spec.replicas");
    (field.row.number(), field.level())
}

#[test]
fn every_row_is_reached_by_what_happens_in_a_cluster() {
    let mine = |n| deployment(Some(n), None, &[(US, REPLICAS)]);
    let theirs = |n| deployment(Some(n), None, &[("hpa", REPLICAS)]);
    let unowned = |n| deployment(Some(n), None, &[]);
    let body = |n| written(Some(n), None);
    let (ignored, held) = (applied(3, "spec.replicas"), applied(3, ""));
    let ignore = "spec.replicas";
    #[rustfmt::skip]
    let cases = [
        (&ignored, body(3), ignore, theirs(3),  theirs(3),  ( 0, Silent)),
        (&ignored, body(3), ignore, theirs(8),  theirs(8),  ( 1, Silent)),
        (&ignored, body(4), ignore, theirs(3),  theirs(3),  ( 2, Silent)),
        (&ignored, body(4), ignore, theirs(8),  theirs(8),  ( 3, Silent)),
        (&ignored, body(3), "",     theirs(3),  mine(3),    ( 6, Note)),
        (&ignored, body(3), "",     theirs(8),  mine(3),    ( 7, Warning)),
        (&held,    body(3), "",     mine(3),    unowned(3), ( 8, NotKept)),
        (&held,    body(3), "",     theirs(8),  theirs(8),  ( 9, NotKept)),
        (&held,    body(3), ignore, mine(3),    mine(3),    (10, Note)),
        (&held,    body(3), ignore, theirs(8),  theirs(8),  (11, Note)),
        (&held,    body(3), "",     mine(3),    mine(3),    (12, Silent)),
        (&held,    body(3), "",     theirs(8),  mine(3),    (13, Warning)),
        (&held,    body(4), "",     mine(3),    mine(4),    (14, Silent)),
        (&held,    body(4), "",     theirs(8),  mine(4),    (15, Warning)),
        // Another manager already set what we are about to set: classified, never a warning.
        (&held,    body(8), "",     theirs(8),  mine(8),    (15, Silent)),
        // A new co-holder of the same value is not a change.
        (&held,    body(3), "",     deployment(Some(3), None, &[(US, REPLICAS), ("hpa", REPLICAS)]), mine(3), (12, Silent)),
        // Another manager removed the field.
        (&held,    body(3), "",     deployment(None, None, &[]), mine(3), (13, Warning)),
    ];
    for (number, (last, now, ignored, live, planned, expected)) in cases.iter().enumerate() {
        assert_eq!(replicas(last, now, ignored, live, planned), *expected, "case {number}");
    }

    // Rows 4 and 5: held although nothing was written about it then or now.
    let unheld = Last { baseline: record(&unowned(3), &body(3)), body: body(3) };
    assert_eq!(replicas(&unheld, &body(3), "", &unowned(3), &mine(3)), (4, NotKept));
    assert_eq!(replicas(&unheld, &body(3), "", &theirs(8), &mine(3)), (5, NotKept));
}

fn rows(prior: Prior<'_>, now: &Value, live: &Value, planned: &Value) -> Vec<(String, u8)> {
    let manager = FieldManager::new(US);
    let desired = Desired::new(&manager, now);
    let analysis = Analysis::new(&desired, prior, &observed(live), &observed(planned), &KEY);
    analysis.fields.iter().map(|field| (analysis.print(field), field.row.number())).collect()
}

#[test]
fn a_field_whose_name_has_dots_is_one_field() {
    let last = applied(3, "");
    let prior = Prior::Applied { written: &last.body, baseline: &last.baseline };
    let now = written(Some(3), Some("web"));
    let live = deployment(Some(3), Some("shop"), &[(US, REPLICAS), ("kubectl", &["label"])]);
    let planned = deployment(Some(3), Some("web"), &[(US, BOTH)]);
    let found = rows(prior, &now, &live, &planned);
    assert_eq!(
        found,
        [("metadata.labels.app.kubernetes.io/name".to_owned(), 7), ("spec.replicas".to_owned(), 12)]
    );
}

#[test]
fn a_field_that_is_no_longer_written_is_released() {
    let body = written(Some(3), Some("web"));
    let answer = deployment(Some(3), Some("web"), &[(US, BOTH)]);
    let baseline = record(&answer, &body);
    let prior = Prior::Applied { written: &body, baseline: &baseline };
    let now = written(Some(3), None);
    let planned = deployment(Some(3), None, &[(US, REPLICAS)]);
    let found = rows(prior, &now, &answer, &planned);
    assert_eq!(
        found,
        [("metadata.labels.app.kubernetes.io/name".to_owned(), 10), ("spec.replicas".to_owned(), 12)]
    );
}

#[test]
fn without_a_record_the_live_object_is_the_only_witness() {
    let now = written(Some(3), None);
    let planned = deployment(Some(3), None, &[(US, REPLICAS)]);
    let check = |prior: Prior<'_>, live: &Value, expected: u8| {
        assert_eq!(rows(prior, &now, live, &planned)[0].1, expected);
    };
    check(Prior::Unrecorded, &deployment(Some(3), None, &[(US, REPLICAS)]), 12);
    check(Prior::Unrecorded, &deployment(Some(5), None, &[(US, REPLICAS)]), 14);
    check(Prior::Unrecorded, &deployment(Some(5), None, &[("kubectl", REPLICAS)]), 7);
    check(Prior::Unrecorded, &deployment(None, None, &[]), 6);
    check(Prior::Imported, &deployment(Some(5), None, &[("kubectl", REPLICAS)]), 7);
    check(Prior::Imported, &deployment(Some(3), None, &[("kubectl", REPLICAS)]), 6);
}

#[test]
fn a_field_that_is_ignored_and_of_which_nothing_was_kept_is_left_alone() {
    let (now, live) = (written(Some(3), None), deployment(Some(3), None, &[(US, REPLICAS)]));
    let manager = FieldManager::new(US);
    let ignored = ignoring("spec");
    let desired = Desired::new(&manager, &now).ignoring(&ignored);
    let analysis = Analysis::new(&desired, Prior::Unrecorded, &observed(&live), &observed(&live), &KEY);
    assert_eq!(analysis.fields[0].level(), Silent);
}

#[test]
fn a_missing_field_is_not_taken_from_another_manager() {
    // kubectl wrote an empty map of labels; ours is the first label in it.
    let now = written(None, Some("web"));
    let mut live = deployment(None, None, &[("kubectl", &[])]);
    live["metadata"]["managedFields"][0]["fieldsV1"] = json!({ "f:metadata": { "f:labels": { ".": {} } } });
    let planned = deployment(None, Some("web"), &[(US, &["label"])]);
    assert_eq!(rows(Prior::Unrecorded, &now, &live, &planned)[0].1, 6);
}

/// The Go provider kept the first manager of a field, and none of fields with dots in their names.
#[test]
fn a_state_of_the_go_provider_says_nothing_wrong_about_who_held_a_field() {
    let body = written(Some(3), Some("web"));
    let projection = [("spec.replicas".to_owned(), "3".to_owned())].into();
    let managers = serde_json::from_value(json!({ "spec.replicas": "argocd" })).unwrap();
    let baseline = Baseline::from_former(&body, &projection, &managers, &IgnoreFields::default(), &KEY);
    let prior = Prior::Applied { written: &body, baseline: &baseline };
    let planned = deployment(Some(3), Some("web"), &[(US, BOTH)]);
    let check = |live: &Value, label: u8, replicas: u8| {
        let found: Vec<u8> = rows(prior, &body, live, &planned).into_iter().map(|(_, row)| row).collect();
        assert_eq!(found, [label, replicas]);
    };
    check(&deployment(Some(3), Some("web"), &[(US, BOTH), ("argocd", REPLICAS)]), 12, 12);
    check(&deployment(Some(8), Some("web"), &[(US, &["label"]), ("argocd", REPLICAS)]), 12, 13);
}

#[test]
fn a_keyed_list_of_a_custom_kind_is_known_by_what_is_held_of_it_now() {
    let rule = |port: u32| json!([{ "id": "a", "port": port }]);
    let object = |rules: Option<Value>| {
        let mut object = json!({ "apiVersion": "acme.dev/v1", "kind": "Gate", "metadata": { "name": "g" }, "spec": { "on": true } });
        let mut fields = json!({ "f:spec": { "f:on": {} } });
        if let Some(rules) = rules {
            object["spec"]["rules"] = rules;
            fields["f:spec"]["f:rules"] =
                json!({ "k:{\"id\":\"a\"}": { ".": {}, "f:id": {}, "f:port": {} } });
        }
        object["metadata"]["managedFields"] = json!([{ "manager": US, "operation": "Apply", "apiVersion": "acme.dev/v1", "fieldsType": "FieldsV1", "fieldsV1": fields }]);
        object
    };
    let plain = |mut object: Value| {
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
        object
    };
    let (body, live) = (plain(object(Some(rule(80)))), object(Some(rule(80))));
    let baseline = record(&live, &body);
    let prior = Prior::Applied { written: &body, baseline: &baseline };
    let found = rows(prior, &plain(object(None)), &live, &object(None));
    let expected = [("spec.on", 12), ("spec.rules[id=a].id", 10), ("spec.rules[id=a].port", 10)];
    assert_eq!(found, expected.map(|(path, row)| (path.to_owned(), row)));
}

#[test]
fn no_object_appears_in_debug_output() {
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "db" }, "data": { "password": "aHVudGVyMg==" } });
    let shown = format!("{:?}", observed(&secret));
    assert_eq!(shown, "Observed { managed: ManagedFields { entries: [] }, .. }");
}

#[test]
fn quantities_and_list_order_are_compared_as_kubernetes_does() {
    let pod = |cpu: &str, finalizers: &[&str]| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "p", "finalizers": finalizers, "managedFields": [{
                "manager": US, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:metadata": { "f:finalizers": { "v:\"a\"": {}, "v:\"b\"": {} } },
                    "f:spec": { "f:containers": { "k:{\"name\":\"web\"}": {
                        ".": {}, "f:name": {}, "f:resources": { "f:limits": { "f:cpu": {} } } } } },
                },
            }] },
            "spec": { "containers": [{ "name": "web", "resources": { "limits": { "cpu": cpu } } }] },
        })
    };
    let body = pod("1000m", &["a", "b"]);
    let answer = pod("1", &["b", "a"]);
    let baseline = record(&answer, &body);
    let prior = Prior::Applied { written: &body, baseline: &baseline };
    let now = pod("1", &["b", "a"]);
    let found = rows(prior, &now, &pod("1000m", &["a", "b"]), &answer);
    let named: Vec<_> = found.iter().filter(|(path, _)| !path.contains("managedFields")).collect();
    assert!(named.iter().all(|(_, row)| *row == 12), "{named:?}");
    assert!(named.iter().any(|(path, _)| path == "spec.containers[0].resources.limits.cpu"), "{named:?}");
}

#[test]
fn a_secret_is_compared_in_its_stored_form_and_shown_masked() {
    let secret = |parts: Value, held: &Value| {
        let mut object = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": {
            "name": "db", "namespace": "shop", "managedFields": [
                { "manager": US, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": held }
            ] } });
        object.as_object_mut().unwrap().extend(parts.as_object().unwrap().clone());
        object
    };
    let held_plain = json!({ "f:stringData": { "f:password": {} } });
    let body = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "db", "namespace": "shop" },
        "stringData": { "password": "hunter2" } });
    let answer = secret(json!({ "data": { "password": "aHVudGVyMg==" } }), &held_plain);
    let baseline = record(&answer, &body);
    let live = secret(json!({ "data": { "password": "c3RvbGVu" } }), &held_plain);
    let manager = FieldManager::new(US);
    let prior = Prior::Applied { written: &body, baseline: &baseline };
    let analysis =
        Analysis::new(&Desired::new(&manager, &body), prior, &observed(&live), &observed(&answer), &KEY);
    let [field] = &analysis.fields[..] else { panic!("{analysis:?}") };
    assert_eq!((analysis.print(field), field.row), ("data.password".to_owned(), Row::RevertDrift));
    assert!(field.change.as_ref().unwrap().masked);
    for text in [format!("{analysis:?}"), format!("{baseline:?}"), baseline.to_value().to_string()] {
        assert!(
            !text.contains("hunter2") && !text.contains("aHVudGVyMg") && !text.contains("c3RvbGVu"),
            "{text}"
        );
    }
}

/// The row of the label, which a patch takes away, and what is said about it.
fn removal(baseline: Option<&Baseline>, live: &Value, planned: &Value) -> (u8, Level) {
    let manager = FieldManager::new(US);
    let body = written(None, None);
    let prior = match baseline {
        None => Prior::Imported,
        Some(baseline) => Prior::Applied { written: &body, baseline },
    };
    let label = FieldPath::of_fields(["metadata", "labels", "app.kubernetes.io/name"]);
    let removed = FieldSet::from_iter([label]);
    let desired = Desired::new(&manager, &body).removing(&removed);
    let analysis = Analysis::new(&desired, prior, &observed(live), &observed(planned), &KEY);
    let [field] = &analysis.fields[..] else { panic!("one field: {analysis:?}") };
    (field.row.number(), field.level())
}

#[test]
fn a_field_that_a_patch_takes_away_is_classified_like_one_that_it_sets() {
    let label: &[&str] = &["label"];
    let without = deployment(None, None, &[]);
    let theirs = deployment(None, Some("web"), &[("kubectl", label)]);
    let unowned = deployment(None, Some("web"), &[]);
    assert_eq!(removal(None, &theirs, &without), (7, Warning));
    assert_eq!(removal(None, &unowned, &without), (6, Note));
    // Afterwards it is known who has taken it away, and putting it back is drift.
    let removed =
        FieldSet::from_iter([FieldPath::of_fields(["metadata", "labels", "app.kubernetes.io/name"])]);
    let (manager, body) = (FieldManager::new(US), written(None, None));
    let desired = Desired::new(&manager, &body).removing(&removed);
    let baseline = Baseline::record(&observed(&without), &desired, &KEY);
    assert_eq!(baseline.removed_by(&FieldManager::new(US)), removed);
    assert!(baseline.removed_by(&FieldManager::new("kubectl")).is_empty());
    let stored = Baseline::from_value(&baseline.to_value(), None, &KEY).unwrap();
    assert_eq!(removal(Some(&stored), &without, &without), (12, Silent));
    assert_eq!(removal(Some(&stored), &theirs, &without), (13, Warning));
    // A field that comes back at once was not taken away.
    assert_eq!(removal(Some(&stored), &theirs, &theirs), (9, NotKept));
}
