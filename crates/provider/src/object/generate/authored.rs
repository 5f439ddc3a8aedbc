//! The part of an object that its author wrote: not what the API server and the controllers of Kubernetes have filled in.

use fields::{FieldPath, FieldSet, Schema};
use ownership::Observed;
use plan::allocated;
use serde_json::Value as Json;

/// They fill in what an author left open: a node, a volume, replicas, the token of a ServiceAccount.
const CONTROLLERS: [&str; 2] = ["kube-controller-manager", "kube-scheduler"];

/// `body` without what was filled in: a new object would get its own. `live` is the same object with its managedFields,
/// which tell fields that were filled in from those that an author chose.
pub(super) fn part_of(body: Json, live: Option<&Observed>) -> Json {
    let schema = live.map_or_else(|| Schema::of(&body), |live| live.schema().clone());
    let is_filled_in = |path: &FieldPath| {
        let mut holders = live.map(|live| live.managed().holders(path)).unwrap_or_default().into_iter();
        match holders.next() {
            None => is_allocated(&body, path, &schema),
            Some(first) => holders.chain([first]).all(|manager| CONTROLLERS.contains(&manager.as_str())),
        }
    };
    let all = fields::written(&body, &schema).leaves();
    let filled_in: FieldSet = all.paths().into_iter().filter(is_filled_in).collect();
    if filled_in.is_empty() {
        return body;
    }
    let rest = all.recursive_difference(&filled_in).with_merge_keys();
    fields::project(&body, &rest, &schema)
}

/// Whether a field that no manager holds was filled in before the object was stored, so that it differs from a default.
fn is_allocated(body: &Json, path: &FieldPath, schema: &Schema) -> bool {
    let names = path.to_string();
    match body["kind"].as_str() {
        Some("Service") => {
            // A headless Service says so in the field for its address.
            allocated::is_allocated(body, path)
                && fields::value_at(body, path, schema).is_none_or(|value| *value != "None")
        }
        Some("PersistentVolumeClaim") => names == "spec.volumeName",
        Some("Pod") => names == "spec.nodeName",
        Some("Job") => {
            let is_label =
                names.starts_with("metadata.labels") || names.starts_with("spec.template.metadata.labels");
            let label = path.elements().last().and_then(fields::PathElement::as_field).unwrap_or_default();
            let is_generated = label.ends_with("controller-uid") || label.ends_with("job-name");
            names.starts_with("spec.selector") || (is_label && is_generated)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The specification of what an author wrote of an object whose fields in `held` have that manager.
    fn part(kind: &str, spec: &Json, held: &[(&str, Json)]) -> Json {
        let entries = held.iter().map(|(manager, fields)| {
            json!({"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                   "fieldsV1": {"f:spec": fields}})
        });
        let api_version = if kind == "Job" { "batch/v1" } else { "v1" };
        let body = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec});
        let mut live = body.clone();
        live["metadata"]["managedFields"] = entries.collect();
        part_of(body, Some(&Observed::new(live).unwrap()))["spec"].clone()
    }

    #[test]
    fn what_no_manager_holds_was_allocated() {
        let service = json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 80, "nodePort": 30080}]});
        let port = json!({"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}});
        assert_eq!(part("Service", &service, &[("kubectl", port)]), json!({"ports": [{"port": 80}]}));
        let chosen = json!({"f:clusterIP": {}, "f:ports": {
            "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:nodePort": {}},
        }});
        assert_eq!(
            part("Service", &service, &[("kubectl", chosen)]),
            json!({"clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 30080}]})
        );
        let headless = json!({"clusterIP": "None", "clusterIPs": ["None"], "selector": {"a": "b"}});
        assert_eq!(part("Service", &headless, &[])["clusterIP"], "None");
        let job = json!({"suspend": true, "selector": {"matchLabels": {"app": "a"}}});
        assert_eq!(part("Job", &job, &[]), json!({"suspend": true}));
        assert_eq!(part("Job", &job, &[("kubectl", json!({"f:selector": {}}))]), job);
    }

    #[test]
    fn what_only_controllers_hold_was_filled_in() {
        let claim = json!({"accessModes": ["ReadWriteOnce"], "volumeName": "a"});
        let volume = || json!({"f:volumeName": {}});
        let without = json!({"accessModes": ["ReadWriteOnce"]});
        assert_eq!(part("PersistentVolumeClaim", &claim, &[("kube-controller-manager", volume())]), without);
        assert_eq!(part("PersistentVolumeClaim", &claim, &[]), without);
        for author in ["kubectl", "argocd"] {
            let both = [("kube-controller-manager", volume()), (author, volume())];
            assert_eq!(part("PersistentVolumeClaim", &claim, &both), claim, "{author}");
        }
    }

    #[test]
    fn without_the_live_object_only_allocated_fields_are_known() {
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}});
        assert_eq!(part_of(map.clone(), None), map);
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {
            "name": "a", "labels": {"batch.kubernetes.io/job-name": "a", "controller-uid": "1"},
        }, "spec": {"selector": {"matchLabels": {"controller-uid": "1"}}, "suspend": true}});
        let expected = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"suspend": true}});
        assert_eq!(part_of(job, None), expected);
    }
}
