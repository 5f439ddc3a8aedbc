//! What a pod cannot start without, and what an autoscaler scales.

use serde_json::Value;

use super::{Found, Neighbours, Question, Trouble, named};
use crate::object::Object;
use crate::pod;

pub(super) fn questions_of_pod(pod: Object<'_>) -> Vec<Question> {
    let namespace = Some(pod.text("/metadata/namespace"));
    let needed = needed(pod).into_iter();
    needed.map(|(kind, name)| Question::one("", kind, namespace, name)).collect()
}

/// A `ConfigMap` or Secret that a pod needs and that does not exist. A pod that is ready has it already.
pub(super) fn of_pod(pod: Object<'_>, neighbours: &Neighbours) -> Option<Trouble> {
    if pod::check(pod).is_ok() {
        return None;
    }
    let namespace = Some(pod.text("/metadata/namespace"));
    let missing =
        |(kind, name): &(&str, &str)| matches!(neighbours.find("", kind, namespace, name), Found::Missing);
    let (kind, name) = needed(pod).into_iter().find(missing)?;
    Some(Trouble::new(format!("it needs {}, which does not exist", named(kind, namespace, name))))
}

/// Kinds and names of what a pod cannot start without.
fn needed(pod: Object<'_>) -> Vec<(&'static str, &str)> {
    let mut references: Vec<(&'static str, &Value, &str)> = Vec::new();
    for volume in pod.list("/spec/volumes") {
        references.push(("ConfigMap", &volume["configMap"], "name"));
        references.push(("Secret", &volume["secret"], "secretName"));
        for source in Object::from(volume).list("/projected/sources") {
            references.push(("ConfigMap", &source["configMap"], "name"));
            references.push(("Secret", &source["secret"], "name"));
        }
    }
    let lists = ["/spec/initContainers", "/spec/containers"].into_iter().flat_map(|list| pod.list(list));
    for container in lists.map(Object::from) {
        for from in container.list("/envFrom") {
            references.push(("ConfigMap", &from["configMapRef"], "name"));
            references.push(("Secret", &from["secretRef"], "name"));
        }
        for from in container.list("/env").iter().map(|env| &env["valueFrom"]) {
            references.push(("ConfigMap", &from["configMapKeyRef"], "name"));
            references.push(("Secret", &from["secretKeyRef"], "name"));
        }
    }
    let required = references.into_iter().filter(|(_, reference, _)| reference["optional"] != true);
    required.filter_map(|(kind, reference, field)| Some((kind, reference[field].as_str()?))).collect()
}

pub(super) fn questions_of_autoscaler(autoscaler: Object<'_>) -> Vec<Question> {
    let Some(target) = autoscaler.get("/spec/scaleTargetRef").map(Object::from) else { return Vec::new() };
    let ((group, kind), namespace) = (target.group_kind(), autoscaler.text("/metadata/namespace"));
    vec![Question::one(group, kind, Some(namespace), target.text("/name"))]
}

/// That what an autoscaler scales does not exist.
pub(super) fn of_autoscaler(autoscaler: Object<'_>, neighbours: &Neighbours) -> Option<Trouble> {
    let namespace = Some(autoscaler.text("/metadata/namespace"));
    let target = Object::from(autoscaler.get("/spec/scaleTargetRef")?);
    let ((group, kind), name) = (target.group_kind(), target.text("/name"));
    matches!(neighbours.find(group, kind, namespace, name), Found::Missing)
        .then(|| Trouble::new(format!("its target {} does not exist", named(kind, namespace, name))))
}
