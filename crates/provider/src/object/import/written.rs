//! A live object as its author could have written it: without what the API server and the controllers of Kubernetes add.

use manifest::server_metadata;
use serde_json::{Map, Value as Json};

/// Annotations that controllers set.
const ANNOTATIONS: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
    "statefulset.kubernetes.io/revision",
    "deprecated.daemonset.template.generation",
    "batch.kubernetes.io/job-tracking",
    "volume.beta.kubernetes.io/storage-provisioner",
];
/// How those begin that the controllers of volumes set.
const ANNOTATION_PREFIXES: [&str; 3] =
    ["pv.kubernetes.io/", "volume.kubernetes.io/", fields::INTERNAL_ANNOTATIONS];
const FINALIZERS: [&str; 7] = [
    "kubernetes.io/pvc-protection",
    "kubernetes.io/pv-protection",
    "external-provisioner.volume.kubernetes.io/finalizer",
    "service.kubernetes.io/load-balancer-cleanup",
    "customresourcecleanup.apiextensions.k8s.io",
    "batch.kubernetes.io/job-tracking",
    "foregroundDeletion",
];
/// The volume with the token of its service account, which admission adds to every Pod under a random name.
const TOKEN_VOLUME: &str = "kube-api-access-";

/// A live object as a manifest.
pub(crate) fn yaml_of(live: &Json) -> String {
    let mut object = live.clone();
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    server_metadata::remove(object.get_mut("metadata"), server_metadata::ALL);
    let of_core = |kind: &str| live["apiVersion"] == "v1" && live["kind"] == kind;
    if let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) {
        retain(metadata, "annotations", |name| {
            !ANNOTATIONS.contains(&name) && !ANNOTATION_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        });
        if of_core("Namespace") {
            retain(metadata, "labels", |name| name != "kubernetes.io/metadata.name");
        }
        let is_written = |name: &Json| name.as_str().is_none_or(|name| !FINALIZERS.contains(&name));
        retain_items(metadata, "finalizers", is_written);
    }
    for template in ["/spec/template/metadata", "/spec/jobTemplate/spec/template/metadata"] {
        if let Some(metadata) = object.pointer_mut(template).and_then(Json::as_object_mut) {
            metadata.remove("creationTimestamp");
        }
    }
    let claims = object.pointer_mut("/spec/volumeClaimTemplates").and_then(Json::as_array_mut);
    for claim in claims.into_iter().flatten().filter_map(Json::as_object_mut) {
        claim.remove("status");
    }
    if of_core("Pod")
        && let Some(spec) = object.get_mut("spec").and_then(Json::as_object_mut)
    {
        remove_token_volume(spec);
    }
    manifest::to_yaml(&object)
}

fn remove_token_volume(spec: &mut Map<String, Json>) {
    let is_written = |item: &Json| item["name"].as_str().is_none_or(|name| !name.starts_with(TOKEN_VOLUME));
    retain_items(spec, "volumes", is_written);
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        let containers = spec.get_mut(list).and_then(Json::as_array_mut).into_iter().flatten();
        for container in containers.filter_map(Json::as_object_mut) {
            retain_items(container, "volumeMounts", is_written);
        }
    }
}

/// Removes entries of the map `name` whose key is not `written`, and the map if nothing is left.
fn retain(fields: &mut Map<String, Json>, name: &str, written: impl Fn(&str) -> bool) {
    let Some(entries) = fields.get_mut(name).and_then(Json::as_object_mut) else { return };
    entries.retain(|key, _| written(key));
    if entries.is_empty() {
        fields.remove(name);
    }
}

/// The same for the list `name`.
fn retain_items(fields: &mut Map<String, Json>, name: &str, written: impl Fn(&Json) -> bool) {
    let Some(items) = fields.get_mut(name).and_then(Json::as_array_mut) else { return };
    items.retain(written);
    if items.is_empty() {
        fields.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_controllers_and_admission_add_is_left_out() {
        let check = |kind: &str, added: Json, written: Json| {
            let object = |mut fields: Json| {
                fields["apiVersion"] = "v1".into();
                fields["kind"] = kind.into();
                fields["metadata"]["name"] = "a".into();
                fields
            };
            assert_eq!(yaml_of(&object(added)), manifest::to_yaml(&object(written)), "{kind}");
        };
        let nothing = || json!({});
        check("Namespace", json!({"metadata": {"labels": {"kubernetes.io/metadata.name": "a"}}}), nothing());
        check(
            "Namespace",
            json!({"metadata": {"labels": {"kubernetes.io/metadata.name": "a", "team": "shop"}}}),
            json!({"metadata": {"labels": {"team": "shop"}}}),
        );
        let claim = json!({"metadata": {"finalizers": ["kubernetes.io/pvc-protection"], "annotations": {
            "pv.kubernetes.io/bind-completed": "yes", "volume.kubernetes.io/storage-provisioner": "p",
            "volume.beta.kubernetes.io/storage-provisioner": "p",
        }}});
        check("PersistentVolumeClaim", claim, nothing());
        let mine = json!({"metadata": {
            "finalizers": ["example.com/mine"], "labels": {"kubernetes.io/metadata.name": "a"},
            "annotations": {"volume.beta.kubernetes.io/storage-class": "fast"},
        }});
        check("PersistentVolumeClaim", mine.clone(), mine);
        let template = |status: Json| json!({"spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "status": status}]}});
        let mut bare = template(Json::Null);
        bare["spec"]["volumeClaimTemplates"][0].as_object_mut().unwrap().remove("status");
        check("StatefulSet", template(json!({"phase": "Pending"})), bare);
        let token = json!({"name": "kube-api-access-x7fz2", "mountPath": "/var/run/secrets"});
        let data = json!({"name": "data", "mountPath": "/data"});
        check(
            "Pod",
            json!({"spec": {"volumes": [{"name": "data"}, token], "containers": [
                {"name": "a", "volumeMounts": [token]}, {"name": "b", "volumeMounts": [data, token]},
            ]}}),
            json!({"spec": {"volumes": [{"name": "data"}], "containers": [{"name": "a"}, {"name": "b", "volumeMounts": [data]}]}}),
        );
    }
}
