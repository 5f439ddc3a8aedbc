//! What becomes of the fields of an object that is deleted and created again. Unlike an apply, that keeps nothing of what other
//! managers hold or the API server has chosen.

use fields::{Change, FieldPath, FieldSet, PathElement};
use manifest::secret::MaskKey;
use ownership::{FieldManager, LAST_APPLIED, Observed};
use serde_json::Value;

use crate::allocated::is_allocated;
use crate::preview::{FieldChange, apart, holders, visible};

/// What differs between `live` and `created`, which the API server has made of `written`, each field with its holders. In a dry
/// run, the API server only guesses what it allocates. Values of Secrets are masked.
pub fn recreated(
    written: &Value,
    live: &Observed,
    created: &Observed,
    is_dry_run: bool,
    key: &MaskKey,
) -> Vec<FieldChange> {
    let (before, after) = (visible(live.object(), key), visible(created.object(), key));
    let everything = fields::written(&before, live.schema()).leaves();
    let changed = fields::diff(&before, &after, created.schema()).into_iter();
    let changed = changed.flat_map(|change| apart(change, &after, created));
    let changed = changed.flat_map(|change| by_holder(change, &before, &everything, live));
    let copy = FieldPath::of_fields(LAST_APPLIED);
    let chosen = fields::written(written, created.schema());
    let has_address = chosen.contains(&FieldPath::of_fields(["spec", "clusterIP"]));
    let addresses = FieldPath::of_fields(["spec", "clusterIPs"]);
    let is_chosen = |path: &FieldPath| chosen.touches(path) || (has_address && *path == addresses);
    let changed = changed.filter(|(change, _)| change.path != copy);
    let change = |(Change { path, old, new }, held_now): (Change, Vec<FieldManager>)| {
        let held_after = holders(created, &path);
        let is_allocated = is_dry_run && !is_chosen(&path) && is_allocated(written, &path);
        let new = new.filter(|_| !is_allocated);
        FieldChange { path, old, new, held_now, held_after, is_allocated, row: None }
    };
    changed.map(change).collect()
}

/// A change with the holders of the field; what goes field by field, if these have different holders.
fn by_holder(
    change: Change,
    before: &Value,
    everything: &FieldSet,
    live: &Observed,
) -> Vec<(Change, Vec<FieldManager>)> {
    let below: Vec<FieldPath> = match (&change.old, &change.new) {
        (Some(Value::Object(_)), None) => {
            everything.paths().into_iter().filter(|path| path.starts_with(&change.path)).collect()
        }
        _ => Vec::new(),
    };
    let Some(first) = below.first() else {
        let held_now = holders(live, &change.path);
        return vec![(change, held_now)];
    };
    let held_now = holders(live, first);
    let is_metadata = change.path.elements().first().and_then(PathElement::as_field) == Some("metadata");
    if !is_metadata && below.iter().all(|path| holders(live, path) == held_now) {
        return vec![(change, held_now)];
    }
    let values = fields::leaf_values(before, &below.iter().cloned().collect(), live.schema());
    let each = |(path, value): (FieldPath, Value)| {
        let held_now = holders(live, &path);
        (Change { path, old: Some(value), new: None }, held_now)
    };
    values.into_iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn held_by(manager: &str, fields: &Value) -> Value {
        json!({ "manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields })
    }

    #[test]
    fn what_others_hold_and_the_server_has_chosen_is_lost() {
        let written = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
            "spec": { "type": "NodePort", "ports": [{ "port": 80 }] },
        });
        let live = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {
                "name": "web", "uid": "u", "finalizers": ["example.org/lb"],
                "annotations": { "a": "1", "b": "2", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
                "managedFields": [
                    held_by("lb", &json!({ "f:metadata": { "f:annotations": { "f:a": {} }, "f:finalizers": { "v:\"example.org/lb\"": {} } } })),
                    held_by("us", &json!({ "f:metadata": { "f:annotations": { "f:b": {} } }, "f:spec": { "f:type": {} } })),
                ],
            },
            "spec": {
                "type": "NodePort", "clusterIP": "10.0.0.1",
                "ports": [{ "port": 80, "protocol": "TCP", "nodePort": 30001 }],
            },
            "status": { "loadBalancer": {} },
        });
        let mut created = written.clone();
        created["metadata"]["managedFields"] = json!([held_by("us", &json!({ "f:spec": { "f:type": {} } }))]);
        created["spec"]["clusterIP"] = json!("10.0.0.2");
        created["spec"]["ports"] = json!([{ "port": 80, "protocol": "TCP", "nodePort": 30002 }]);
        let (live, created) = (Observed::new(live).unwrap(), Observed::new(created).unwrap());
        let check = |is_dry_run: bool, expected: &[&str]| {
            let changes = recreated(&written, &live, &created, is_dry_run, &MaskKey::new(1));
            let line = |change: &FieldChange| {
                let held: Vec<&str> = change.held_now.iter().map(FieldManager::as_str).collect();
                let new = change.new.as_ref().map_or("none".to_owned(), Value::to_string);
                let new = if change.is_allocated { "allocated" } else { &new };
                format!("{} {new} {}", change.path.notation(), held.join(",")).trim_end().to_owned()
            };
            assert_eq!(changes.iter().map(line).collect::<Vec<_>>(), expected);
        };
        check(
            true,
            &[
                "metadata.annotations.a none lb",
                "metadata.annotations.b none us",
                "metadata.finalizers none lb",
                "spec.clusterIP allocated",
                r#"spec.ports[port=80,protocol="TCP"].nodePort allocated"#,
            ],
        );
        let fixed = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
            "spec": { "type": "NodePort", "clusterIP": "10.0.0.2", "ports": [{ "port": 80, "nodePort": 30002 }] },
        });
        let allocated = recreated(&fixed, &live, &created, true, &MaskKey::new(1));
        assert!(allocated.iter().all(|change| !change.is_allocated), "the file chooses: {allocated:?}");
        check(
            false,
            &[
                "metadata.annotations.a none lb",
                "metadata.annotations.b none us",
                "metadata.finalizers none lb",
                r#"spec.clusterIP "10.0.0.2""#,
                r#"spec.ports[port=80,protocol="TCP"].nodePort 30002"#,
            ],
        );
    }
}
