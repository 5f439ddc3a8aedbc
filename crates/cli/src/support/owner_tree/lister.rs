//! Lists all objects that may belong to a tree, with one request per kind, and watches them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cluster::{Resource, Selection, Session};
use manifest::{GroupVersionKind, ObjectRef};
use readiness::Health;
use serde_json::Value;

use super::{Node, refers_elsewhere};
use crate::support::connect::{Cluster, missing};
use crate::support::exit::Failure;
use crate::support::informer::{Informer, uid};

/// An object and everything that may belong to it.
pub(crate) struct OwnerTree {
    target: ObjectRef,
    /// The root object.
    pub(crate) object: Arc<Value>,
    members: Informer,
    session: Session,
    /// Whether the CRDs of kinds without any status declare conditions.
    publishing: HashMap<GroupVersionKind, bool>,
}

impl OwnerTree {
    /// Reads `target` and everything that may belong to it.
    pub(crate) async fn list(
        cluster: &Cluster,
        target: &ObjectRef,
        operation: &str,
    ) -> Result<Self, Failure> {
        let object = cluster.read(target, operation).await?;
        // A namespaced owner owns nothing outside its namespace; an object with references, or a cluster-scoped one,
        // may.
        let namespace = target.namespace.as_ref().filter(|_| !refers_elsewhere(&object));
        let resources = cluster.session.resources().await.map_err(|error| error.diagnostic(operation))?;
        let kinds = kinds_to_list(resources, namespace.is_some());
        let selection = Selection { namespace: namespace.cloned(), ..Selection::default() };
        let members = cluster.informers.list(kinds, &selection).await;
        let (target, session) = (target.clone(), cluster.session.clone());
        let mut tree =
            Self { target, object: Arc::new(object), members, session, publishing: HashMap::new() };
        tree.look_up_definitions().await?;
        Ok(tree)
    }

    /// The current tree of the object.
    pub(crate) fn root(&self) -> Result<Node, Failure> {
        let root = super::tree(&self.object, &self.members.objects(), &self.publishing);
        root.ok_or_else(|| missing(&self.target).into())
    }

    /// Finds out for kinds without a status whether they will have one.
    async fn look_up_definitions(&mut self) -> Result<(), Failure> {
        let mut nodes = vec![self.root()?];
        while let Some(node) = nodes.pop() {
            nodes.extend(node.children);
            if node.health == Health::NoStatus && !self.publishing.contains_key(&node.target.gvk) {
                let publishes = self.session.publishes_conditions(&node.target.gvk).await;
                self.publishing.insert(node.target.gvk, publishes);
            }
        }
        Ok(())
    }

    /// Waits until something changes; [`OwnerTree::refresh`] takes it over. Waiting may be cancelled.
    pub(crate) async fn changed(&mut self) {
        self.members.changed().await;
    }

    /// Takes over what has changed. The deletion of the root object is a failure.
    pub(crate) async fn refresh(&mut self) -> Result<(), Failure> {
        match self.members.get(&uid(&self.object)) {
            Some(object) => self.object = object,
            // A kind that we may get but not list is not followed.
            None if self.members.has_kind(&self.target.gvk) => return Err(missing(&self.target).into()),
            None => {}
        }
        self.look_up_definitions().await
    }

    /// The plural names of kinds that could not be listed.
    pub(crate) fn unreadable(&self) -> &[String] {
        &self.members.unreadable
    }

    /// Why the tree may be out of date.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.members.trouble()
    }

    /// An object of the tree.
    pub(crate) fn member(&self, uid: &str) -> Option<Arc<Value>> {
        if self.object["metadata"]["uid"] == uid {
            Some(Arc::clone(&self.object))
        } else {
            self.members.get(uid)
        }
    }
}

/// Each kind once, in its preferred version, without numerous kinds that own nothing.
pub(crate) fn kinds_to_list(resources: Vec<Resource>, only_namespaced: bool) -> Vec<Resource> {
    let mut best: BTreeMap<(String, String), Resource> = BTreeMap::new();
    for resource in resources {
        let gvk = &resource.gvk;
        let noise = matches!(gvk.kind(), "Event" | "ComponentStatus") || gvk.group() == "metrics.k8s.io";
        if noise || !resource.can("list") || (only_namespaced && !resource.namespaced) {
            continue;
        }
        let key = (gvk.group().to_owned(), gvk.kind().to_owned());
        if best.get(&key).is_none_or(|known| resource.version_priority() > known.version_priority()) {
            best.insert(key, resource);
        }
    }
    best.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::kinds::tests::resource;

    #[test]
    fn each_kind_is_listed_once() {
        let resource = |gvk: &str, namespaced: bool| resource(gvk, "", namespaced);
        let all = || {
            vec![
                resource("autoscaling/v1/HorizontalPodAutoscaler", true),
                resource("autoscaling/v2/HorizontalPodAutoscaler", true),
                resource("v1/Event", true),
                resource("v1/Node", false),
            ]
        };
        let names = |only| kinds_to_list(all(), only).iter().map(|it| it.gvk.to_string()).collect::<Vec<_>>();
        assert_eq!(names(true), ["autoscaling/v2/HorizontalPodAutoscaler"]);
        assert_eq!(names(false), ["v1/Node", "autoscaling/v2/HorizontalPodAutoscaler"]);
    }
}
