//! What would go with a namespace or a CRD: the objects in it that belong to others.

use cluster::{Error, Resource, Selection, Session};
use manifest::{Namespace, ObjectRef};
use serde_json::Value;

use super::owner_tree::reference_of;

/// Kinds that Kubernetes creates by itself in every namespace.
const EVERYWHERE: [&str; 6] =
    ["Event", "Endpoints", "EndpointSlice", "Lease", "ControllerRevision", "PodMetrics"];

/// An object in a namespace, or of the kind of a CRD, that has `labels` and no owner, and is not `ours`.
pub(crate) async fn foreign(
    session: &Session,
    target: &ObjectRef,
    labels: String,
    ours: impl Fn(&Value) -> bool,
) -> Result<Option<ObjectRef>, Error> {
    let resources = session.resources().await?;
    let is_namespace = target.kind() == "Namespace";
    let concerned = |resource: &&Resource| {
        let is_inside = if is_namespace {
            resource.namespaced && !EVERYWHERE.contains(&resource.gvk.kind())
        } else {
            resource.crd_name() == target.name
        };
        resource.can("list") && is_inside
    };
    let namespace = if is_namespace { Namespace::new(target.name.clone()) } else { None };
    let selection = Selection { namespace, labels: Some(labels), ..Selection::default() };
    for resource in resources.iter().filter(concerned) {
        let listing = match session.list(&resource.gvk, &selection).await {
            // Its CRD has gone meanwhile.
            Err(error) if error.is_kind_absent() => continue,
            listing => listing?,
        };
        if let Some(found) = listing.items.iter().find(|item| is_foreign(item) && !ours(item)) {
            return Ok(reference_of(found));
        }
    }
    Ok(None)
}

/// Whether an object is neither created by Kubernetes itself nor owned by another object.
fn is_foreign(object: &Value) -> bool {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_default =
        manifest::is_in_every_namespace(&text(&object["kind"]), &text(&object["metadata"]["name"]));
    let is_owned = object["metadata"]["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
    !is_default && !is_owned
}
