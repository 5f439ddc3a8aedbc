//! All objects that may hang on one, with one request for each kind.

use std::collections::BTreeMap;

use cluster::{Resource, Selection};
use futures::stream::{self, StreamExt as _};
use manifest::{Namespace, ObjectRef};
use serde_json::Value;

use super::{Node, refers_elsewhere, tree};
use crate::commands::connect::{Cluster, missing};
use crate::commands::kinds::version;
use crate::commands::plan::AT_ONCE;
use crate::exit::Failure;

/// A tree, and what could not be looked at for it.
pub(crate) struct Family {
    pub(crate) root: Node,
    /// The object at the root.
    pub(crate) object: Value,
    /// Kinds that we may not list, or whose server does not answer.
    pub(crate) unseen: Vec<String>,
}

/// Reads `target` and everything that hangs on it.
pub(crate) async fn gather(
    cluster: &Cluster,
    target: &ObjectRef,
    operation: &str,
) -> Result<Family, Failure> {
    let object = cluster.read(target, operation).await?;
    // An owner in a namespace owns nothing outside of it; whatever refers to others or is in none may.
    let namespace = target.namespace.as_ref().filter(|_| !refers_elsewhere(&object));
    let resources = cluster.session.resources().await.map_err(|error| error.diagnostic(operation))?;
    let kinds = worth_listing(resources, namespace.is_some());
    let lists = kinds.into_iter().map(|resource| list(cluster, resource, namespace));
    let listed: Vec<Result<Vec<Value>, String>> =
        stream::iter(lists).buffer_unordered(AT_ONCE).collect().await;
    let (mut all, mut unseen) = (Vec::new(), Vec::new());
    for outcome in listed {
        match outcome {
            Ok(items) => all.extend(items),
            Err(kind) => unseen.push(kind),
        }
    }
    unseen.sort();
    let root = tree(&object, &all).ok_or_else(|| missing(target))?;
    Ok(Family { root, object, unseen })
}

async fn list(
    cluster: &Cluster,
    resource: Resource,
    namespace: Option<&Namespace>,
) -> Result<Vec<Value>, String> {
    let selection = Selection { namespace: namespace.cloned(), ..Selection::default() };
    match cluster.session.list(&resource.gvk, &selection).await {
        Ok(listing) => Ok(listing.items),
        Err(_) => Err(resource.plural),
    }
}

/// Each kind once, in its best version, without those that own nothing and come in masses.
fn worth_listing(resources: Vec<Resource>, only_namespaced: bool) -> Vec<Resource> {
    let mut best: BTreeMap<(String, String), Resource> = BTreeMap::new();
    for resource in resources {
        let gvk = &resource.gvk;
        let noise = matches!(gvk.kind(), "Event" | "ComponentStatus") || gvk.group() == "metrics.k8s.io";
        if noise || !resource.can("list") || (only_namespaced && !resource.namespaced) {
            continue;
        }
        let key = (gvk.group().to_owned(), gvk.kind().to_owned());
        let is_better = best
            .get(&key)
            .is_none_or(|known| version::rank(gvk.version()) < version::rank(known.gvk.version()));
        if is_better {
            best.insert(key, resource);
        }
    }
    best.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_listed_once() {
        let resource = |gvk: &str, namespaced: bool| Resource {
            gvk: gvk.parse().unwrap(),
            plural: String::new(),
            namespaced,
            verbs: vec!["list".to_owned()],
        };
        let all = || {
            vec![
                resource("autoscaling/v1/HorizontalPodAutoscaler", true),
                resource("autoscaling/v2/HorizontalPodAutoscaler", true),
                resource("v1/Event", true),
                resource("v1/Node", false),
            ]
        };
        let names = |only| worth_listing(all(), only).iter().map(|it| it.gvk.to_string()).collect::<Vec<_>>();
        assert_eq!(names(true), ["autoscaling/v2/HorizontalPodAutoscaler"]);
        assert_eq!(names(false), ["v1/Node", "autoscaling/v2/HorizontalPodAutoscaler"]);
    }
}
