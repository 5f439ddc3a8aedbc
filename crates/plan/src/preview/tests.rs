//! Previews of small objects, with and without other managers.

use serde_json::json;

use super::*;

fn managed(manager: &str, fields: &Value) -> Value {
    json!({ "manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields })
}

fn config_map(data: &Value, managers: &[Value]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "a", "resourceVersion": managers.len().to_string(), "managedFields": managers },
        "data": data,
    })
}

fn body(data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data })
}

fn check(written: &Value, live: Option<&Value>, after: &Value) -> Preview {
    let observed = |object: &Value| Observed::new(object.clone()).unwrap();
    let (manager, live) = (FieldManager::new("us"), live.map(observed));
    Preview::new(
        &Desired::new(&manager, written),
        Prior::Unrecorded,
        live.as_ref(),
        &observed(after),
        &MaskKey::new(7),
    )
}

#[test]
fn a_new_object_shows_every_written_field() {
    let written = body(&json!({ "k": "v" }));
    let after = config_map(&json!({ "k": "v" }), &[managed("us", &json!({ "f:data": { "f:k": {} } }))]);
    let preview = check(&written, None, &after);
    assert!(preview.created && preview.changes.len() == 1);
    assert_eq!(preview.changes[0].path, FieldPath::of_fields(["data", "k"]));
    assert_eq!(preview.changes[0].held_after, [FieldManager::new("us")]);
}

#[test]
fn an_object_that_stays_as_it_is_has_an_empty_preview() {
    let ours = managed("us", &json!({ "f:data": { "f:k": {} } }));
    let object = config_map(&json!({ "k": "v" }), &[ours]);
    assert!(check(&object, Some(&object), &object).is_empty());
}

#[test]
fn a_field_taken_from_another_manager_shows_both_holders_and_warns() {
    let written = body(&json!({ "k": "new" }));
    let fields = json!({ "f:data": { "f:k": {} } });
    let live = config_map(&json!({ "k": "old" }), &[managed("them", &fields)]);
    let after = config_map(&json!({ "k": "new" }), &[managed("us", &fields)]);
    let preview = check(&written, Some(&live), &after);
    let change = &preview.changes[0];
    assert_eq!((change.held_now[0].as_str(), change.held_after[0].as_str()), ("them", "us"));
    // No last apply is recorded, so it is unknown whether the manager is active.
    assert_eq!(change.row, None);
    let warnings = preview.warnings("ConfigMap a", &Reporting::default(), Some("Take them out."));
    let [warning] = &warnings[..] else { panic!("one warning: {warnings:?}") };
    assert_eq!(warning.hint.as_deref(), Some("Take them out."));
}

#[test]
fn holding_can_change_without_a_value() {
    let (one, both) = (json!({ "f:data": { "f:k": {} } }), json!({ "f:data": { "f:k": {}, "f:l": {} } }));
    let data = json!({ "k": "v", "l": "w" });
    let live = config_map(&data, &[managed("them", &both), managed("us", &one)]);
    let after =
        config_map(&data, &[managed("them", &both), managed("us", &json!({ "f:data": { "f:l": {} } }))]);
    let preview = check(&body(&json!({ "l": "w" })), Some(&live), &after);
    assert!(preview.changes.is_empty() && !preview.is_empty());
    let path = |name| vec![FieldPath::of_fields(["data", name])];
    assert_eq!((preview.takes, preview.releases), (path("l"), path("k")));
}

#[test]
fn secrets_are_masked() {
    let secret = |value: &str| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" }, "data": { "k": value } });
    let preview = check(&secret("bmV3"), Some(&secret("b2xk")), &secret("bmV3"));
    assert_eq!(preview.changes.len(), 1);
    let shown = format!("{preview:?}");
    assert!(!shown.contains("bmV3") && !shown.contains("b2xk"), "{shown}");
}
