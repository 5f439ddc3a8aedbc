//! Patches of managedFields, as the API server would receive them.

use fields::FieldPath;
use serde_json::{Value, json};

use super::*;

fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
    json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields })
}

fn observed(object: &Value) -> Observed {
    Observed::new(object.clone()).unwrap()
}

fn object(entries: &Value) -> Observed {
    observed(&json!({ "metadata": { "resourceVersion": "41", "managedFields": entries } }))
}

fn hand_over(object: &Observed, from: &[FieldManager], to: &FieldManager) -> Option<Vec<Value>> {
    let part = |entry: &Entry| {
        let is_given = entry.subresource.is_empty() && from.contains(&entry.manager);
        is_given.then(|| entry.fields.clone())
    };
    Handover::of(object).hand_over(to, "", part).patch()
}

fn paths(fields: &[&str]) -> FieldSet {
    fields.iter().map(|path| FieldPath::of_fields(path.split('.'))).collect()
}

/// The entries after the patch, or nothing when there is no patch; the first operation guards the version.
fn after(patch: Option<Vec<Value>>) -> Option<Value> {
    let patch = patch?;
    assert_eq!(patch[0], json!({ "op": "test", "path": "/metadata/resourceVersion", "value": "41" }));
    assert_eq!((&patch[1]["op"], &patch[1]["path"]), (&json!("replace"), &json!("/metadata/managedFields")));
    Some(patch[1]["value"].clone())
}

#[test]
fn a_release_removes_only_what_no_other_manager_holds() {
    let us = FieldManager::new("k8sconnect");
    let check = |entries: Value, released: &[&str], expected: Option<Value>| {
        let patch = Handover::of(&object(&entries)).release(&us, &paths(released)).patch();
        assert_eq!(after(patch), expected, "{released:?}");
    };
    let ours = entry("k8sconnect", "Apply", &json!({ "f:data": { "f:a": {}, "f:b": {} } }));
    let other = entry("kubectl", "Update", &json!({ "f:data": { "f:b": {} } }));

    check(
        json!([ours, other]),
        &["data.a"],
        Some(json!([entry("k8sconnect", "Apply", &json!({ "f:data": { "f:b": {} } })), other])),
    );
    // Shared: applying without it leaves the value to the other holder, no patch is needed.
    check(json!([ours, other]), &["data.b"], None);
    check(json!([ours, other]), &["data.c"], None);
    // A parent releases what is below it, and an entry that holds nothing more disappears.
    check(json!([ours]), &["data"], Some(json!([{}])));
    // Below a parent, too, what is shared needs no release and what is ours alone does.
    check(
        json!([ours, other]),
        &["data"],
        Some(json!([entry("k8sconnect", "Apply", &json!({ "f:data": { "f:b": {} } })), other])),
    );
    // A manager that merely created the map does not hold its keys.
    let creator = entry("kubectl", "Update", &json!({ "f:data": { ".": {} } }));
    check(
        json!([ours, creator]),
        &["data.a"],
        Some(json!([entry("k8sconnect", "Apply", &json!({ "f:data": { "f:b": {} } })), creator])),
    );
}

#[test]
fn releasing_everything_removes_our_entries_and_no_others() {
    let ours = |operation| entry("k8sconnect-patch-0a1b", operation, &json!({ "f:data": { "f:a": {} } }));
    let other = entry("kubectl", "Update", &json!({ "f:data": { "f:b": {} } }));
    let us = FieldManager::new("k8sconnect-patch-0a1b");
    let patch =
        Handover::of(&object(&json!([ours("Apply"), other, ours("Update")]))).release_all(&us).patch();
    assert_eq!(after(patch), Some(json!([other])));
    assert_eq!(Handover::of(&object(&json!([other]))).release_all(&us).patch(), None);
}

#[test]
fn a_hand_over_merges_the_former_managers_into_ours() {
    let us = FieldManager::new("k8sconnect");
    let from = [FieldManager::new("Terraform"), FieldManager::new("kubectl-client-side-apply")];
    let former = entry("Terraform", "Apply", &json!({ "f:data": { "f:a": {} } }));
    let older = entry("kubectl-client-side-apply", "Update", &json!({ "f:data": { ".": {}, "f:b": {} } }));
    let mut status = entry("Terraform", "Update", &json!({ "f:status": { "f:phase": {} } }));
    status["subresource"] = json!("status");
    let stranger = entry("helm", "Update", &json!({ "f:data": { "f:c": {} } }));

    let merged = entry("k8sconnect", "Apply", &json!({ "f:data": { ".": {}, "f:a": {}, "f:b": {} } }));
    let patch = hand_over(&object(&json!([former, older, status, stranger])), &from, &us);
    assert_eq!(after(patch), Some(json!([status, stranger, merged])));

    let ours = entry("k8sconnect", "Apply", &json!({ "f:data": { "f:b": {} } }));
    let patch = hand_over(&object(&json!([ours, former])), &from, &us);
    assert_eq!(
        after(patch),
        Some(json!([entry("k8sconnect", "Apply", &json!({ "f:data": { "f:a": {}, "f:b": {} } }))]))
    );

    assert_eq!(hand_over(&object(&json!([ours, stranger])), &from, &us), None);
}

#[test]
fn entries_of_others_stay_word_for_word() {
    let mut secret = object(&json!([
        entry("k8sconnect", "Apply", &json!({ "f:data": { "f:a": {}, "f:b": {} } })),
        entry("kubectl", "Update", &json!({ "f:stringData": { "f:c": {} } })),
    ]))
    .into_object();
    secret["apiVersion"] = json!("v1");
    secret["kind"] = json!("Secret");
    secret["metadata"]["managedFields"][1]["news"] = json!("from a later API server");
    let patch = Handover::of(&observed(&secret))
        .release(&FieldManager::new("k8sconnect"), &paths(&["data.a"]))
        .patch();
    let after = after(patch).unwrap();
    assert_eq!(after[0]["fieldsV1"], json!({ "f:data": { "f:b": {} } }));
    assert_eq!(after[1], secret["metadata"]["managedFields"][1]);
}

#[test]
fn what_was_held_in_another_version_is_taken_over_where_the_object_has_it() {
    let mut former = entry(
        "Terraform",
        "Update",
        &json!({ "f:spec": { "f:maxReplicas": {}, "f:targetCPUUtilizationPercentage": {} } }),
    );
    former["apiVersion"] = json!("autoscaling/v1");
    let mut hpa = object(&json!([former])).into_object();
    hpa["apiVersion"] = json!("autoscaling/v2");
    hpa["kind"] = json!("HorizontalPodAutoscaler");
    hpa["spec"] = json!({ "maxReplicas": 5, "metrics": [] });
    let patch =
        hand_over(&observed(&hpa), &[FieldManager::new("Terraform")], &FieldManager::new("k8sconnect"));
    let mut merged = entry("k8sconnect", "Apply", &json!({ "f:spec": { "f:maxReplicas": {} } }));
    merged["apiVersion"] = json!("autoscaling/v2");
    assert_eq!(after(patch), Some(json!([merged])));
}
