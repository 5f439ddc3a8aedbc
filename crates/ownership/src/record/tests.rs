//! When a record counts, what it says has changed, and that it has no value.

use serde_json::json;

use super::*;
use crate::{Analysis, Prior, Row};

const KEY: MaskKey = MaskKey::new(7);
const US: &str = "plimsoll";

fn entry(manager: &str, operation: &str, time: &str, data: &[&str]) -> Value {
    let data: Value =
        data.iter().map(|name| (format!("f:{name}"), json!({}))).collect::<serde_json::Map<_, _>>().into();
    json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1",
            "fieldsV1": { "f:data": data } })
}

fn map(kind: &str, data: &Value, entries: &[Value]) -> Value {
    json!({ "apiVersion": "v1", "kind": kind, "data": data,
            "metadata": { "name": "m", "namespace": "shop", "uid": "u1", "managedFields": entries } })
}

fn written(kind: &str, data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": kind, "data": data, "metadata": { "name": "m", "namespace": "shop" } })
}

fn recorded(kind: &str) -> Record {
    let data = json!({ "a": "MQ==", "b": "Mg==" });
    let answer = map(kind, &data, &[entry(US, "Apply", "t1", &["a", "b"])]);
    let (manager, written) = (FieldManager::new(US), written(kind, &data));
    let answer = Observed::new(answer).unwrap();
    let record = Record::new(&answer, &Desired::new(&manager, &written), &KEY).unwrap();
    let read = Record::from_value(&record.to_value(), &KEY).unwrap();
    assert_eq!(read, record, "what is stored reads back");
    record
}

#[test]
fn a_record_counts_while_only_others_take_fields_out_of_our_entry() {
    let record = recorded("ConfigMap");
    let check = |entries: &[Value], uid: &str, current: bool| {
        let mut live = map("ConfigMap", &json!({ "a": "x", "b": "Mg==" }), entries);
        live["metadata"]["uid"] = uid.into();
        assert_eq!(record.is_current(&Observed::new(live).unwrap()), current, "{entries:?}");
    };
    check(&[entry(US, "Apply", "t1", &["a", "b"])], "u1", true);
    let edit = entry("kubectl-edit", "Update", "t2", &["a"]);
    check(&[entry(US, "Apply", "t1", &["b"]), edit.clone()], "u1", true);
    check(&[edit], "u1", true);
    check(&[entry(US, "Apply", "t1", &["a", "b"])], "u2", false);
    check(&[entry(US, "Apply", "t2", &["a", "b"])], "u1", false);
    check(&[entry(US, "Apply", "t1", &["a", "b", "c"])], "u1", false);
}

#[test]
fn an_outside_change_is_drift_and_no_taking() {
    let (record, manager) = (recorded("ConfigMap"), FieldManager::new(US));
    let live = map(
        "ConfigMap",
        &json!({ "a": "eA==", "b": "Mg==" }),
        &[entry(US, "Apply", "t1", &["b"]), entry("kubectl-edit", "Update", "t2", &["a"])],
    );
    let live = Observed::new(live).unwrap();
    let row = |data: Value| {
        let written = written("ConfigMap", &data);
        let answer = map("ConfigMap", &data, &[entry(US, "Apply", "t3", &["a", "b"])]);
        let answer = Observed::new(answer).unwrap();
        let analysis =
            Analysis::new(&Desired::new(&manager, &written), Prior::Recorded(&record), &live, &answer, &KEY);
        analysis.fields[0].row
    };
    assert_eq!(row(json!({ "a": "MQ==", "b": "Mg==" })), Row::RevertDrift);
    assert_eq!(row(json!({ "a": "Mw==", "b": "Mg==" })), Row::OverwriteConcurrent);
    let changed = record.changes_since(&live);
    let [change] = &changed[..] else { panic!("{changed:?}") };
    assert_eq!(change.path.to_string(), "data.a");
    assert_eq!((change.is_value_changed, change.set_at.as_deref()), (true, Some("t2")));
    assert_eq!((&change.held_then[0].as_str(), &change.held_now[0].as_str()), (&US, &"kubectl-edit"));
}

#[test]
fn a_record_has_neither_values_nor_hashes_that_can_be_guessed() {
    for kind in ["ConfigMap", "Secret"] {
        let stored = recorded(kind).to_value().to_string();
        for value in ["MQ==", "Mg=="] {
            assert!(!stored.contains(value), "{stored}");
        }
        let other = recorded(kind);
        assert_ne!(
            hash(&KEY, &FieldPath::root(), &json!("x"), Schema::of_kind("v1", kind).root()),
            hash(&MaskKey::new(8), &FieldPath::root(), &json!("x"), Schema::of_kind("v1", kind).root())
        );
        assert_eq!(other.to_value()["fields"]["f:data"]["f:a"].as_str().map(str::len), Some(7));
    }
}
