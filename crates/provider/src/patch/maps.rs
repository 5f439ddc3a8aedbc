//! What a patch does to its target: the part it holds, the fields it removes, and a fingerprint of both.

use fields::{FieldPath, FieldSet};
use ownership::{Baseline, FieldManager, Observed};
use serde_json::{Value, json};

use super::content::Content;

/// The part of `object` that `manager` holds, with the identifying fields of the object and its list items.
pub(super) fn held_part(object: &Observed, manager: &FieldManager) -> Value {
    let held = object.held_by(manager).union(&fields::identity()).with_merge_keys();
    fields::project(object.object(), &held, object.schema())
}

/// The fields that a patch removes, by comparing the target `now` and `after` it; and, if the patch is the `same` as
/// last time, those it removed then. An apply removes only what its manager holds.
pub(super) fn removals(
    (content, same): (&Content, bool),
    (now, after): (&Observed, &Observed),
    baseline: Option<&Baseline>,
    manager: &FieldManager,
) -> FieldSet {
    if content.patch_type().is_none() {
        return FieldSet::new();
    }
    let leaves = |object: &Observed| fields::written(object.object(), now.schema()).leaves();
    // Fields that controllers and the API server report.
    let reported = [FieldPath::of_fields(["status"]), FieldPath::of_fields(["metadata", "managedFields"])];
    let mut removed =
        leaves(now).difference(&leaves(after)).recursive_difference(&FieldSet::from_iter(reported));
    if let Some(baseline) = baseline.filter(|_| same) {
        removed.add_all(&baseline.removed_by(manager));
    }
    removed
}

/// A hash of the patch and its result. It changes only when another manager changes what the patch covers.
pub(super) fn fingerprint(content: &Content, object: &Observed, manager: &FieldManager) -> String {
    let covered = json!([content.to_value(), content.touched(object.object())]);
    plan::fingerprint(&covered, &[], manager, object)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::projection::Maps;
    use manifest::secret::MaskKey;

    fn manager() -> FieldManager {
        FieldManager::new("k8sconnect-patch-0123456789ab")
    }

    fn deployment(image: &str) -> Observed {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "uid": "1", "resourceVersion": "5", "managedFields": [
                {"manager": "k8sconnect-patch-0123456789ab", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
                 "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:containers": {
                     "k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}},
                 }}}}}},
                {"manager": "kubectl", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
                 "fieldsV1": {"f:spec": {"f:replicas": {}}}},
            ]},
            "spec": {"replicas": 3, "template": {"spec": {"containers": [
                {"name": "sidecar", "image": "s"}, {"name": "web", "image": image},
            ]}}},
        });
        Observed::new(object).unwrap()
    }

    #[test]
    fn fields_inside_lists_are_shown() {
        let written =
            json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "a:1"}]}}}});
        let shown = Maps::of_patch(&deployment("a:1"), &manager(), &written, &MaskKey::new(7));
        let prefix = "spec.template.spec.containers[0]";
        let expected = [("image", "a:1"), ("name", "web")]
            .map(|(name, value)| (format!("{prefix}.{name}"), value.to_owned()));
        assert_eq!(shown.values, BTreeMap::from(expected));
        assert!(shown.managers.values().all(|manager| manager == "k8sconnect-patch"));
        assert_eq!(shown.managers.keys().collect::<Vec<_>>(), shown.values.keys().collect::<Vec<_>>());
        assert_ne!(shown, Maps::of_patch(&deployment("a:2"), &manager(), &written, &MaskKey::new(7)));
    }

    #[test]
    fn values_of_secrets_are_masked() {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "data": {"k": "aHVudGVyMg=="},
            "metadata": {"name": "db", "namespace": "shop", "managedFields": [
                {"manager": "k8sconnect-patch-0123456789ab", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
                 "fieldsV1": {"f:data": {"f:k": {}}}},
            ]},
        });
        let shown =
            Maps::of_patch(&Observed::new(secret.clone()).unwrap(), &manager(), &secret, &MaskKey::new(7));
        assert!(shown.values["data.k"].starts_with("(sensitive hmac:"), "{shown:?}");
    }

    #[test]
    fn the_fingerprint_changes_only_with_what_the_patch_covers() {
        let content = Content::Json(vec![json!({"op": "replace", "path": "/spec/replicas", "value": 3})]);
        let before = fingerprint(&content, &deployment("a:1"), &manager());
        let check = |what: &str, moves: bool, change: &dyn Fn(&mut Value)| {
            let mut live = deployment("a:1").into_object();
            change(&mut live);
            let now = fingerprint(&content, &Observed::new(live).unwrap(), &manager());
            assert_eq!(now != before, moves, "{what}");
        };
        check("nothing", false, &|_| {});
        check("version", false, &|live| live["metadata"]["resourceVersion"] = json!("6"));
        check("a field of others", false, &|live| live["spec"]["paused"] = json!(true));
        check("held by another, and patched", true, &|live| live["spec"]["replicas"] = json!(4));
        check("held", true, &|live| {
            live["spec"]["template"]["spec"]["containers"][1]["image"] = json!("a:2");
        });
        check("another object", true, &|live| live["metadata"]["uid"] = json!("2"));
    }
}
