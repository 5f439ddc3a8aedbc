//! The autoscaler of an object whose replicas are fought over, so that a warning can name it.

use cluster::{Selection, Session};
use manifest::ObjectRef;
use ownership::Observed;
use serde_json::Value;

/// The HorizontalPodAutoscaler that scales `target`, if the apply changes `spec.replicas`. Only for a message: without
/// the right to list there is none.
pub(crate) async fn of(
    session: &Session,
    target: &ObjectRef,
    live: Option<&Observed>,
    planned: &Observed,
) -> Option<String> {
    let replicas = |object: &Observed| object.object().pointer("/spec/replicas").cloned();
    let now = replicas(live?)?;
    if replicas(planned) == Some(now) {
        return None;
    }
    let kind = "autoscaling/v2/HorizontalPodAutoscaler".parse().expect("a fixed kind");
    let selection = Selection { namespace: target.namespace.clone(), ..Selection::default() };
    let listed = session.list(&kind, &selection).await.ok()?;
    let found = listed.items.iter().find(|autoscaler| scales(autoscaler, target))?;
    let name = found["metadata"]["name"].as_str()?;
    Some(ObjectRef::new(kind, target.namespace.clone(), name).to_string())
}

fn scales(autoscaler: &Value, target: &ObjectRef) -> bool {
    let reference = &autoscaler["spec"]["scaleTargetRef"];
    let version = reference["apiVersion"].as_str().unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    reference["kind"] == target.kind() && reference["name"] == *target.name && group == target.group()
}
