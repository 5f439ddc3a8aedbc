use serde_json::json;

use super::*;
use crate::naming::COMPOSITE_MANAGER;
use crate::object::object;

fn entry(manager: &str, operation: &str, subresource: &str, fields: &Value) -> Value {
    let mut entry = json!({"manager": manager, "operation": operation, "apiVersion": "e/v1",
        "fieldsType": "FieldsV1", "fieldsV1": fields});
    if !subresource.is_empty() {
        entry["subresource"] = subresource.into();
    }
    entry
}

fn xr(entries: &[Value]) -> Object {
    object(json!({"metadata": {"name": "x", "resourceVersion": "7", "managedFields": entries}}))
}

#[test]
fn what_updates_hold_is_folded_into_what_applies_hold() {
    let theirs = entry(
        "crossplane",
        "Update",
        "status",
        &json!({"f:status": {"f:conditions": {"k:{\"type\":\"A\"}": {".": {}, "f:status": {}}}}}),
    );
    let ours = entry(
        COMPOSITE_MANAGER,
        "Apply",
        "status",
        &json!({"f:status": {"f:field": {}, "f:conditions": {".": {}}}}),
    );
    let spec = entry("crossplane", "Update", "", &json!({"f:spec": {}}));
    let patch = fold_updates(&xr(&[theirs, ours, spec.clone()]), COMPOSITE_MANAGER, "status").unwrap();
    let both = json!({"f:status": {"f:field": {},
        "f:conditions": {".": {}, "k:{\"type\":\"A\"}": {".": {}, "f:status": {}}}}});
    let expected = json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "replace", "path": "/metadata/managedFields",
         "value": [entry(COMPOSITE_MANAGER, "Apply", "status", &both), spec]},
    ]);
    assert_eq!(patch, expected);
}

#[test]
fn without_an_entry_of_ours_theirs_becomes_it() {
    let fields = json!({"f:status": {"f:field": {}}});
    let patch =
        fold_updates(&xr(&[entry("crossplane", "Update", "status", &fields)]), COMPOSITE_MANAGER, "status");
    assert_eq!(patch.unwrap()[1]["value"], json!([entry(COMPOSITE_MANAGER, "Apply", "status", &fields)]));
}

#[test]
fn without_updates_there_is_nothing_to_do() {
    let fields = json!({"f:status": {}});
    let others = [
        entry("kubectl", "Update", "status", &fields),
        entry("crossplane", "Apply", "status", &fields),
        entry("crossplane", "Update", "", &fields),
    ];
    assert_eq!(fold_updates(&xr(&others), COMPOSITE_MANAGER, "status"), None);
    assert_eq!(fold_updates(&Object::new(), COMPOSITE_MANAGER, "status"), None);
}

#[test]
fn what_updates_hold_of_an_apply_to_come_is_handed_over() {
    let intent = object(json!({
        "apiVersion": "e/v1", "kind": "XR",
        "metadata": {"name": "x", "labels": {"foo": "1"}},
        "spec": {"numbers": ["one"], "tags": {"tag": "v1"}},
    }));
    let theirs = json!({
        "f:metadata": {"f:finalizers": {".": {}, "v:\"f\"": {}}, "f:labels": {".": {}, "f:foo": {}, "f:theirs": {}}},
        "f:spec": {"f:compositionRef": {"f:name": {}}, "f:numbers": {}, "f:tags": {".": {}, "f:tag": {}}},
    });
    let rest = json!({
        "f:metadata": {"f:finalizers": {".": {}, "v:\"f\"": {}}, "f:labels": {".": {}, "f:theirs": {}}},
        "f:spec": {"f:compositionRef": {"f:name": {}}, "f:tags": {}},
    });
    let ours = json!({
        "f:metadata": {"f:labels": {"f:foo": {}}}, "f:spec": {"f:numbers": {}, "f:tags": {"f:tag": {}}},
    });
    let person = entry("kubectl", "Update", "", &json!({"f:spec": {"f:numbers": {}}}));
    let status = entry("crossplane", "Update", "status", &json!({"f:status": {}}));
    let xr = |more: &[Value]| {
        let held = [entry("crossplane", "Update", "", &theirs), person.clone(), status.clone()];
        xr(&[&held, more].concat())
    };
    let patch = hand_over_updates(&xr(&[]), &intent, "claim").unwrap();
    assert_eq!(
        patch,
        json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
            {"op": "replace", "path": "/metadata/managedFields",
             "value": [entry("crossplane", "Update", "", &rest), person, status, entry("claim", "Apply", "", &ours)]},
        ])
    );
    let applied = entry("claim", "Apply", "", &json!({"f:spec": {}}));
    assert_eq!(hand_over_updates(&xr(&[applied]), &intent, "claim"), None, "it was taken over before");
    let other = object(json!({"apiVersion": "e/v1", "kind": "XR", "spec": {"other": 1}}));
    assert_eq!(hand_over_updates(&xr(&[]), &other, "claim"), None, "they hold nothing of it");
}

#[test]
fn an_update_entry_without_other_fields_is_handed_over_whole() {
    let intent = object(json!({"apiVersion": "e/v1", "kind": "XR", "spec": {"a": 1}}));
    let fields = json!({"f:spec": {"f:a": {}}});
    let only = xr(&[entry("crossplane", "Update", "", &fields)]);
    let patch = hand_over_updates(&only, &intent, "claim").unwrap();
    assert_eq!(patch[1]["value"], json!([entry("claim", "Apply", "", &fields)]));
}

#[test]
fn a_renamed_program_is_recognised_by_what_only_an_engine_writes() {
    let metadata = json!({
        "name": "x", "resourceVersion": "7",
        "ownerReferences": [{"apiVersion": "e/v1", "kind": "XR", "name": "xr", "uid": "u", "controller": true}],
    });
    let check = |subresource: &str, fields: &Value, expected: bool| {
        let mut live = object(json!({"apiVersion": "e/v1", "kind": "Any", "metadata": metadata}));
        live["metadata"]["managedFields"] = json!([entry("engine", "Update", subresource, fields)]);
        let is_folded = fold_updates(&live, "ours", subresource).is_some();
        assert_eq!(is_folded, expected, "{fields}");
    };
    let synced =
        |kind: &str| json!({"f:status": {"f:conditions": {format!("k:{{\"type\":\"{kind}\"}}"): {".": {}}}}});
    check("status", &synced("Synced"), true);
    check("status", &synced("Custom"), false);
    check(
        "",
        &json!({"f:metadata": {"f:annotations": {"f:crossplane.io/composition-resource-name": {}}}}),
        true,
    );
    check("", &json!({"f:metadata": {"f:annotations": {"f:crossplane.io/paused": {}}}}), false);
    check(
        "",
        &json!({"f:metadata": {"f:ownerReferences": {"k:{\"uid\":\"u\"}": {}}}, "f:spec": {"f:a": {}}}),
        true,
    );
    check("", &json!({"f:metadata": {"f:ownerReferences": {"k:{\"uid\":\"other\"}": {}}}}), false);
    check("", &json!({"f:metadata": {"f:labels": {"f:crossplane.io/claim-name": {}}}}), true);
    check("", &json!({"f:spec": {"f:claimRef": {"f:name": {}}}}), false);
    check("", &json!({"f:spec": {"f:claimRef": {}}}), true);
    check("", &json!({"f:spec": {"f:replicas": {}}}), false);
}
