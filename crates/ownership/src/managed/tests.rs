//! Who holds what, read from entries as the API server writes them.

use fields::PathElement;
use serde_json::json;

use super::*;

fn object() -> Value {
    json!({ "metadata": { "managedFields": [
        {
            "manager": "k8sconnect", "operation": "Apply", "apiVersion": "apps/v1", "time": "2026-11-15T10:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": { "f:metadata": { "f:labels": { "f:app.kubernetes.io/name": {} } },
                          "f:spec": { "f:replicas": {}, "f:selector": {} } },
        },
        {
            "manager": "kubectl-edit", "operation": "Update", "apiVersion": "apps/v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": { "f:metadata": { "f:labels": { ".": {}, "f:team": {} } }, "f:spec": { "f:replicas": {} } },
        },
        {
            "manager": "kube-controller-manager", "operation": "Update", "subresource": "status",
            "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "fieldsV1": { "f:status": { "f:conditions": { ".": {}, "k:{\"type\":\"Available\"}": { ".": {}, "f:status": {} } } } },
        },
    ] } })
}

#[test]
fn holders_are_those_who_decide_the_value() {
    let managed = ManagedFields::of(&object()).unwrap();
    let check = |path: &[&str], expected: &[&str]| {
        let path = FieldPath::of_fields(path.iter().copied());
        let holders: Vec<_> = managed.holders(&path).into_iter().map(FieldManager::as_str).collect();
        assert_eq!(holders, expected, "{path}");
    };
    check(&["spec", "replicas"], &["k8sconnect", "kubectl-edit"]);
    check(&["metadata", "labels", "app.kubernetes.io/name"], &["k8sconnect"]);
    check(&["metadata", "labels", "team"], &["kubectl-edit"]);
    // kubectl created the map, which says nothing about a key it never wrote.
    check(&["metadata", "labels", "tier"], &[]);
    // An indivisible field is held with everything in it.
    check(&["spec", "selector", "matchLabels", "app"], &["k8sconnect"]);
    check(&["spec"], &["k8sconnect", "kubectl-edit"]);
    check(&["spec", "paused"], &[]);
}

/// Taking a key by force leaves the map with the manager that created it, and that alone is not a reason to hold its keys.
#[test]
fn a_map_whose_keys_were_taken_from_a_manager_is_not_held_by_it_as_a_whole() {
    let entry = |manager: &str, fields: Value| json!({ "manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields });
    let object = json!({ "metadata": { "managedFields": [
        entry("kubectl", json!({ "f:data": { ".": {} } })),
        entry("k8sconnect", json!({ "f:data": { "f:a": {} } })),
    ] } });
    let managed = ManagedFields::of(&object).unwrap();
    let holders = |path: &[&str]| {
        let path = FieldPath::of_fields(path.iter().copied());
        managed.holders(&path).into_iter().map(FieldManager::as_str).collect::<Vec<_>>()
    };
    assert_eq!(holders(&["data", "a"]), ["k8sconnect"]);
    assert_eq!(holders(&["data", "b"]), [""; 0]);
    assert_eq!(holders(&["data"]), ["k8sconnect", "kubectl"]);
}

#[test]
fn list_elements_are_found_by_their_key() {
    let managed = ManagedFields::of(&object()).unwrap();
    let condition = |kind: &str| -> FieldPath {
        [
            PathElement::field("status"),
            PathElement::field("conditions"),
            PathElement::key([("type", json!(kind))]),
            PathElement::field("status"),
        ]
        .into_iter()
        .collect()
    };
    assert_eq!(managed.holders(&condition("Available")).len(), 1);
    assert_eq!(managed.holders(&condition("Progressing")).len(), 0);
}

#[test]
fn an_item_is_held_by_those_who_hold_it_and_not_by_those_who_hold_something_in_it() {
    let item = "k:{\"name\":\"A\"}";
    let entry = |manager: &str, fields: Value| {
        json!({"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
               "fieldsV1": {"f:env": {item: fields}}})
    };
    let check = |theirs: Value, expected: usize| {
        let ours = entry("us", json!({".": {}, "f:name": {}}));
        let object = json!({"kind": "Thing", "metadata": {"managedFields": [ours, entry("them", theirs)]}});
        let (managed, us) = (ManagedFields::of(&object).unwrap(), FieldManager::new("us"));
        let held = managed.held_by(&us);
        assert_eq!(managed.held_only_by(&us, &held).len(), expected, "{object}");
    };
    // Without its holder the item is removed, and what they hold in it.
    check(json!({"f:value": {}}), 2);
    check(json!({".": {}, "f:name": {}, "f:value": {}}), 0);
}

#[test]
fn entries_survive_being_written_again() {
    let object = object();
    let managed = ManagedFields::of(&object).unwrap();
    assert_eq!(
        &managed.entries().iter().map(Entry::write).collect::<Value>(),
        object.pointer("/metadata/managedFields").unwrap()
    );
}

#[test]
fn a_malformed_entry_is_named() {
    let check = |entry: Value, expected: &str| {
        let object = json!({ "metadata": { "managedFields": [entry] } });
        assert_eq!(ManagedFields::of(&object).unwrap_err().to_string(), expected);
    };
    check(json!({ "manager": "x" }), "entry 0 of metadata.managedFields is malformed");
    check(
        json!({ "manager": "x", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": "f:a" }),
        "the fields that x holds cannot be read",
    );
    assert!(ManagedFields::of(&json!({ "kind": "Pod" })).unwrap().entries().is_empty());
}
