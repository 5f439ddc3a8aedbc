//! Finds the cloud operations in a cluster.

use std::sync::Arc;

use cluster::{Resource, Selection, Session};
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::{Value, json};

use super::CloudOperation;
use crate::support::connect::Cluster;
use crate::support::exit::Failure;
use crate::support::informer::{Informer, Summaries, Summary};
use crate::support::kinds;
use crate::support::object_json;

pub(crate) type Found = Vec<(ObjectRef, CloudOperation)>;

pub(crate) fn found(objects: &[Arc<Summary>]) -> Found {
    let operation = |summary: &Arc<Summary>| Some((summary.target.clone(), summary.operation.clone()?));
    let mut found: Found = objects.iter().filter_map(operation).collect();
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    found
}

/// The operations as `plimsoll operations -o json` prints them.
pub(crate) fn to_json(found: &Found) -> Value {
    found.iter().map(|(target, operation)| object_json(target, json!({ "operation": operation }))).collect()
}

/// The objects that may have an operation in progress, in one namespace or in all.
pub(crate) async fn list(
    cluster: &Cluster,
    namespace: Option<&Namespace>,
) -> Result<Informer<Summaries>, Failure> {
    let kinds = tracked(&cluster.session).await?;
    let Some(namespace) = namespace else {
        return Ok(cluster.informers.list_everywhere(kinds, [&cluster.namespace]).await);
    };
    let selection = Selection { namespace: Some(namespace.clone()), ..Selection::default() };
    Ok(cluster.informers.list(kinds.into_iter().map(|kind| (kind, selection.clone()))).await)
}

/// The kinds that record operations: their CRDs have a field for it. Without permission to read CRDs, the kinds of
/// Oracle's groups.
async fn tracked(session: &Session) -> Result<Vec<Resource>, Failure> {
    let describe = |error: cluster::Error| error.diagnostic("Operations");
    let resources = session.resources().await.map_err(describe)?;
    let crds = session.list_kept(&kinds::crd(), &Selection::default(), &|crd| recording(&crd)).await;
    let records = |resource: &Resource| match &crds {
        Ok(kinds) => kinds.items.iter().flatten().any(|gvk| *gvk == resource.gvk),
        Err(_) => resource.gvk.group().ends_with(".oracle.com"),
    };
    Ok(resources.into_iter().filter(|resource| resource.can("list") && records(resource)).collect())
}

/// The versions of a definition that have a field for operations.
fn recording(definition: &Value) -> Vec<GroupVersionKind> {
    const FIELD: &str = "/schema/openAPIV3Schema/properties/status/properties/status/properties/async";
    let spec = &definition["spec"];
    let versions = spec["versions"].as_array().into_iter().flatten();
    let recording = versions.filter(|version| version.pointer(FIELD).is_some()).filter_map(|version| {
        let text = |value: &'_ Value| value.as_str().map(str::to_owned);
        let (group, kind) = (text(&spec["group"])?, text(&spec["names"]["kind"])?);
        format!("{group}/{}/{kind}", version["name"].as_str()?).parse().ok()
    });
    recording.collect()
}
