use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::object::object;

fn child(kind: &str, name: &str, controller: Option<&str>) -> Object {
    let mut value = json!({"apiVersion": "v1", "kind": kind, "metadata": {
        "name": name, "uid": format!("uid-{name}"),
        "labels": {LABEL_COMPOSITE: "x", LABEL_CLAIM_NAME: "c", LABEL_CLAIM_NAMESPACE: "n", "mine": "1"},
    }});
    if let Some(uid) = controller {
        value["metadata"]["ownerReferences"] =
            json!([{"kind": "XR", "name": "o", "uid": uid, "controller": true}]);
    }
    object(value)
}

fn observed(children: &[(&str, Object)]) -> BTreeMap<String, Object> {
    children.iter().map(|(key, object)| ((*key).to_owned(), object.clone())).collect()
}

fn composed(object: &Object) -> Composed {
    Composed { intent: object.clone(), reference: ObjectRef::of(object).unwrap(), ready: false }
}

fn desired(children: &[(&str, Object)]) -> BTreeMap<String, Composed> {
    children.iter().map(|(key, object)| ((*key).to_owned(), composed(object))).collect()
}

/// Crossplane's garbage collection cases, and what identity instead of keys changes.
#[test]
fn garbage_is_found_by_identity_and_deleted_only_if_we_control_it() {
    let check = |name: &str, seen: &[(&str, Object)], wanted: &[(&str, Object)], expected: &[&str]| {
        let deletions = undesired("xr", &observed(seen), &desired(wanted)).unwrap();
        let keys: Vec<_> = deletions.iter().map(|deletion| deletion.key.as_str()).collect();
        assert_eq!(keys, expected, "{name}");
    };
    let mine = || child("ConfigMap", "a", Some("xr"));
    check("no longer desired", &[("k", mine())], &[], &["k"]);
    check("still desired", &[("k", mine())], &[("k", mine())], &[]);
    check("orphan", &[("k", child("ConfigMap", "a", None))], &[], &[]);
    // Crossplane compares keys only: it forgets the first of these, and deletes and recreates the second.
    check("kind changed under its key", &[("k", mine())], &[("k", child("Secret", "a", Some("xr")))], &["k"]);
    check("moved to another key", &[("k", mine())], &[("l", mine())], &[]);
}

#[test]
fn a_resource_with_another_controller_is_refused() {
    let error =
        undesired("xr", &observed(&[("k", child("ConfigMap", "a", Some("other")))]), &BTreeMap::new());
    assert_eq!(
        error.unwrap_err().to_string(),
        "refusing to delete composed resource \"k\" that is controlled by XR \"o\""
    );
}

#[test]
fn only_the_labels_that_tie_it_to_its_xr_are_removed() {
    let labelled = child("ConfigMap", "a", Some("xr"));
    let deletions = undesired("xr", &observed(&[("k", labelled.clone())]), &BTreeMap::new()).unwrap();
    assert_eq!(deletions[0].uid.as_deref(), Some("uid-a"));
    let labels = &without_labels(&labelled).unwrap()["metadata"]["labels"];
    assert_eq!(labels, &json!({"mine": "1"}));

    let bare = object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}));
    assert_eq!(without_labels(&bare), None);
}

proptest! {
    #[test]
    fn nothing_desired_or_controlled_by_another_is_ever_deleted(
        seen in prop::collection::btree_map("[a-d]", ("[a-c]", prop::option::of("xr|other")), 0..4),
        wanted in prop::collection::btree_map("[a-d]", "[a-c]", 0..4),
    ) {
        let observed: BTreeMap<_, _> = seen
            .iter()
            .map(|(key, (name, controller))| (key.clone(), child("ConfigMap", name, controller.as_deref())))
            .collect();
        let desired: BTreeMap<_, _> = wanted
            .iter()
            .map(|(key, name)| (key.clone(), composed(&child("ConfigMap", name, Some("xr")))))
            .collect();
        let Ok(deletions) = undesired("xr", &observed, &desired) else { return Ok(()) };
        for deletion in deletions {
            let (name, controller) = &seen[&deletion.key];
            prop_assert_eq!(controller.as_deref(), Some("xr"));
            prop_assert!(!wanted.values().any(|wanted| wanted == name));
        }
    }
}
