//! What a patch shows of its target: the values of the fields it holds, and which these are.

use std::collections::BTreeMap;

use fields::{FieldSet, Positions};
use manifest::secret;
use ownership::{Baseline, FieldManager, ManagedFields, ManagedFieldsError};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::content::Content;

/// The manager that is shown, whatever the id of the patch.
const SHOWN: &str = "k8sconnect-patch";

/// The two maps of a patch, path → text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// The values of the fields; those of Secrets are masked.
    pub(super) values: BTreeMap<String, String>,
    /// The fields, each with `k8sconnect-patch`.
    pub(super) managers: BTreeMap<String, String>,
}

impl Shown {
    /// What `manager` holds of `object`; positions in lists follow `written`.
    pub(super) fn of(
        object: &Value,
        manager: &FieldManager,
        written: &Value,
    ) -> Result<Self, ManagedFieldsError> {
        let managed = ManagedFields::of(object)?;
        let schema = managed.schema(object);
        let held = managed.held_by(manager);
        let positions = Positions::of(written, &schema);
        let managers = fields::flat_managers([(SHOWN, &held)], SHOWN, &positions);
        let values = fields::leaf_values(&masked(object), &held.leaves(), &schema);
        Ok(Self { values: fields::flat_values(&values, &positions), managers })
    }
}

/// The part of `object` that `manager` holds.
pub(super) fn held_part(object: &Value, manager: &FieldManager) -> Result<Value, ManagedFieldsError> {
    let managed = ManagedFields::of(object)?;
    let mut held = managed.held_by(manager).union(&fields::identity());
    // What names a list item belongs to it.
    held = held.union(&keys_of(&held));
    Ok(fields::project(object, &held, &managed.schema(object)))
}

/// The fields that a patch takes away, by what the target is `now` and `after` it; and, if it is the `same` as was
/// carried out before, those that it took away then. An apply takes away only what its manager holds.
pub(super) fn removals(
    (content, same): (&Content, bool),
    (now, after): (&Value, &Value),
    baseline: Option<&Baseline>,
    manager: &FieldManager,
) -> Result<FieldSet, ManagedFieldsError> {
    if content.dialect().is_none() {
        return Ok(FieldSet::new());
    }
    let mut removed = vanished(now, after)?;
    if let Some(baseline) = baseline.filter(|_| same) {
        removed.add_all(&baseline.removed_by(manager));
    }
    Ok(removed)
}

/// What `live` has and `after` has not, apart from what controllers report.
fn vanished(live: &Value, after: &Value) -> Result<FieldSet, ManagedFieldsError> {
    let schema = ManagedFields::of(live)?.schema(live);
    let leaves = |object: &Value| fields::written(object, &schema).leaves();
    let reported = FieldSet::from_iter([
        fields::FieldPath::of_fields(["status"]),
        fields::FieldPath::of_fields(["metadata", "managedFields"]),
    ]);
    Ok(leaves(live).difference(&leaves(after)).recursive_difference(&reported))
}

/// The merge-key fields of every list item in `set`.
fn keys_of(set: &FieldSet) -> FieldSet {
    let mut keys = FieldSet::new();
    for path in set.paths() {
        let elements = path.elements();
        for (index, element) in elements.iter().enumerate() {
            let fields::PathElement::Key(key) = element else { continue };
            let item: fields::FieldPath = elements[..=index].iter().cloned().collect();
            for (name, _) in key.fields() {
                keys.insert(&item.child(fields::PathElement::field(name)));
            }
        }
    }
    keys
}

/// A hash of the patch and of what came of it. While it stays the same, nobody has touched what the patch is about.
pub(super) fn settled(
    content: &Content,
    object: &Value,
    manager: &FieldManager,
) -> Result<String, ManagedFieldsError> {
    let managed = ManagedFields::of(object)?;
    let held = managed.held_by(manager);
    let values = fields::project(object, &held, &managed.schema(object));
    let all = json!([
        content.to_value(),
        object["metadata"]["uid"],
        held.to_value(),
        values,
        content.touched(object)
    ]);
    Ok(format!("{:x}", Sha256::digest(manifest::to_json(&all))))
}

fn masked(object: &Value) -> Value {
    let mut stored = object.clone();
    secret::normalise(&mut stored);
    secret::masked(&stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manager() -> FieldManager {
        FieldManager::new("k8sconnect-patch-0123456789ab")
    }

    fn deployment(image: &str) -> Value {
        json!({
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
        })
    }

    #[test]
    fn bug_19f_fields_inside_lists_are_shown() {
        let written =
            json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "a:1"}]}}}});
        let shown = Shown::of(&deployment("a:1"), &manager(), &written).unwrap();
        let prefix = "spec.template.spec.containers[0]";
        let expected = [("image", "a:1"), ("name", "web")]
            .map(|(name, value)| (format!("{prefix}.{name}"), value.to_owned()));
        assert_eq!(shown.values, BTreeMap::from(expected));
        assert!(shown.managers.values().all(|manager| manager == "k8sconnect-patch"));
        assert_eq!(shown.managers.keys().collect::<Vec<_>>(), shown.values.keys().collect::<Vec<_>>());
        assert_ne!(shown, Shown::of(&deployment("a:2"), &manager(), &written).unwrap());
    }

    #[test]
    fn bug_29_values_of_secrets_are_masked() {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "data": {"k": "aHVudGVyMg=="},
            "metadata": {"name": "db", "namespace": "shop", "managedFields": [
                {"manager": "k8sconnect-patch-0123456789ab", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
                 "fieldsV1": {"f:data": {"f:k": {}}}},
            ]},
        });
        let shown = Shown::of(&secret, &manager(), &secret).unwrap();
        assert!(shown.values["data.k"].starts_with("(sensitive sha256:"), "{shown:?}");
    }

    #[test]
    fn a_patch_is_settled_until_somebody_touches_what_it_is_about() {
        let content = Content::Json(vec![json!({"op": "replace", "path": "/spec/replicas", "value": 3})]);
        let before = settled(&content, &deployment("a:1"), &manager()).unwrap();
        let check = |what: &str, moves: bool, change: &dyn Fn(&mut Value)| {
            let mut live = deployment("a:1");
            change(&mut live);
            assert_eq!(settled(&content, &live, &manager()).unwrap() != before, moves, "{what}");
        };
        check("nothing", false, &|_| {});
        check("version", false, &|live| live["metadata"]["resourceVersion"] = json!("6"));
        check("somebody's field", false, &|live| live["spec"]["paused"] = json!(true));
        check("held by another, and patched", true, &|live| live["spec"]["replicas"] = json!(4));
        check("held", true, &|live| {
            live["spec"]["template"]["spec"]["containers"][1]["image"] = json!("a:2");
        });
        check("another object", true, &|live| live["metadata"]["uid"] = json!("2"));
    }
}
