//! What other managers have added to an object beside what was written.

use fields::{FieldSet, PathElement};
use manifest::secret::{self, MaskKey};
use ownership::{FieldManager, LAST_APPLIED, Observed};
use serde_json::Value;

use crate::preview::{FieldChange, holders};

/// The fields that managers other than `manager` hold and `written` does not have, with their values, which an apply
/// leaves as they are. Neither the status nor kubectl's copy of the manifest counts.
pub fn additions(
    written: &Value,
    manager: &FieldManager,
    live: &Observed,
    key: &MaskKey,
) -> Vec<FieldChange> {
    let schema = live.schema();
    let ours = fields::written(written, schema).leaves();
    let mut others = FieldSet::new();
    for entry in live.managed().entries() {
        if entry.subresource.is_empty() && entry.manager != *manager {
            others.add_all(&entry.fields);
        }
    }
    let copy = fields::FieldPath::of_fields(LAST_APPLIED);
    let is_added = |path: &fields::FieldPath| {
        let is_status = path.elements().first().and_then(PathElement::as_field) == Some("status");
        !is_status && *path != copy && !ours.covers(path) && !ours.touches(path)
    };
    let others = others.leaves().difference(&fields::identity());
    let added: FieldSet = others.paths().into_iter().filter(is_added).collect();
    let values = fields::leaf_values(&secret::masked(live.object(), key), &added, schema);
    let addition = |(path, value): (fields::FieldPath, Value)| {
        let held = holders(live, &path);
        FieldChange {
            path,
            old: Some(value.clone()),
            new: Some(value),
            held_now: held.clone(),
            held_after: held,
            ..FieldChange::default()
        }
    };
    values.into_iter().map(addition).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_others_that_are_not_written_are_additions() {
        let entry = |manager: &str, subresource: &str, fields: Value| {
            json!({ "manager": manager, "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
                    "subresource": subresource, "fieldsV1": fields })
        };
        let sidecar = json!({ "f:spec": { "f:template": { "f:spec": { "f:containers": {
            "k:{\"name\":\"sidecar\"}": { ".": {}, "f:name": {}, "f:image": {} },
        } } }, "f:replicas": {} }, "f:metadata": { "f:annotations": {
            "f:team": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {},
        } } });
        let live = Observed::new(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "web",
                "annotations": { "team": "a", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
                "managedFields": [
                    entry("them", "", sidecar),
                    entry("controller", "status", json!({ "f:status": { "f:replicas": {} } })),
                    entry("us", "", json!({ "f:spec": { "f:paused": {} } })),
                ] },
            "spec": { "replicas": 2, "paused": true, "template": { "spec": { "containers": [
                { "name": "web" }, { "name": "sidecar", "image": "s:1" },
            ] } } },
            "status": { "replicas": 2 },
        }))
        .unwrap();
        let written = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
            "spec": { "replicas": 3, "template": { "spec": { "containers": [{ "name": "web" }] } } },
        });
        let found = additions(&written, &FieldManager::new("us"), &live, &MaskKey::new(1));
        let found: Vec<String> = found.iter().map(|change| change.path.notation().to_string()).collect();
        assert_eq!(
            found,
            [
                "metadata.annotations.team",
                r#"spec.template.spec.containers[name="sidecar"].image"#,
                r#"spec.template.spec.containers[name="sidecar"].name"#,
            ]
        );
    }
}
