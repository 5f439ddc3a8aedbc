//! Finds the cloud operations in a cluster.

use std::sync::Arc;

use cluster::{Resource, Selection, Session};
use manifest::{Namespace, ObjectRef};
use serde_json::{Value, json};

use super::CloudOperation;
use crate::support::connect::Cluster;
use crate::support::exit::Failure;
use crate::support::informer::Informer;
use crate::support::kinds;
use crate::support::object_json;
use crate::support::owner_tree::reference_of;

pub(crate) type Found = Vec<(ObjectRef, CloudOperation)>;

pub(crate) fn found(objects: &[Arc<Value>]) -> Found {
    let operation = |object: &Arc<Value>| Some((reference_of(object)?, CloudOperation::of(object)?));
    let mut found: Found = objects.iter().filter_map(operation).collect();
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    found
}

/// The operations as `plimsoll operations -o json` prints them.
pub(crate) fn to_json(found: &Found) -> Value {
    found.iter().map(|(target, operation)| object_json(target, json!({ "operation": operation }))).collect()
}

/// The objects that may have an operation in progress, in one namespace or in all.
pub(crate) async fn list(cluster: &Cluster, namespace: Option<&Namespace>) -> Result<Informer, Failure> {
    let kinds = tracked(&cluster.session).await?;
    let selection = Selection { namespace: namespace.cloned(), ..Selection::default() };
    Ok(cluster.informers.list(kinds, &selection).await)
}

/// The kinds that record operations: their CRDs have a field for it. Without permission to read CRDs, the kinds of
/// Oracle's groups.
async fn tracked(session: &Session) -> Result<Vec<Resource>, Failure> {
    let describe = |error: cluster::Error| error.diagnostic("Operations");
    let resources = session.resources().await.map_err(describe)?;
    let crds = session.list(&kinds::crd(), &Selection::default()).await;
    let records = |resource: &Resource| match &crds {
        Ok(crds) => crds.items.iter().any(|crd| records_operations(crd, resource)),
        Err(_) => resource.gvk.group().ends_with(".oracle.com"),
    };
    Ok(resources.into_iter().filter(|resource| resource.can("list") && records(resource)).collect())
}

fn records_operations(definition: &Value, resource: &Resource) -> bool {
    let spec = &definition["spec"];
    spec["group"] == resource.gvk.group()
        && spec["names"]["kind"] == resource.gvk.kind()
        && spec["versions"].as_array().into_iter().flatten().any(|version| {
            let path = "/schema/openAPIV3Schema/properties/status/properties/status/properties/async";
            version["name"] == resource.gvk.version() && version.pointer(path).is_some()
        })
}
