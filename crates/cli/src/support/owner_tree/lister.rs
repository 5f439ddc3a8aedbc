//! Finds the tree of an object: lists the metadata of all that may belong to it, reads what does, and watches both.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use cluster::Resource;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use readiness::Health;
use serde_json::Value;

use super::coverage::Coverage;
use super::known::{Known, place};
use super::loaded::Loaded;
use super::references::Reference;
use super::{Draft, Member, Node, draft};
use crate::support::connect::{Cluster, missing};
use crate::support::definitions::Definitions;
use crate::support::exit::Failure;
use crate::support::informer::{Informer, Records, compact, uid};

/// How long a change may take to be read. Then the last state is shown, and why it is that.
const PATIENCE: Duration = Duration::from_secs(3);

/// Which objects of a tree are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Those whose content says how they stand.
    State,
    Everything,
}

/// An object and everything that may belong to it.
pub(crate) struct OwnerTree<'c> {
    cluster: &'c Cluster,
    target: ObjectRef,
    detail: Detail,
    /// The root object.
    pub(crate) object: Arc<Value>,
    /// The current tree.
    pub(crate) root: Node,
    kinds: Vec<Resource>,
    coverage: Coverage,
    index: Informer<Records>,
    loaded: Loaded,
    /// Whether the CRDs of kinds without any status declare conditions.
    publishing: HashMap<GroupVersionKind, bool>,
    definitions: Definitions,
    /// Why the last change could not be read.
    trouble: Option<String>,
}

impl<'c> OwnerTree<'c> {
    /// Reads `target` and everything that belongs to it. `operation` begins the title of an error.
    pub(crate) async fn list(
        cluster: &'c Cluster,
        target: &ObjectRef,
        operation: &str,
        detail: Detail,
    ) -> Result<Self, Failure> {
        let mut object = cluster.read(target, operation).await?;
        compact(&mut object);
        let object = Arc::new(object);
        let failed = |error: cluster::Error| Failure::from(error.diagnostic(operation));
        let kinds = kinds_to_list(cluster.session.resources().await.map_err(failed)?);
        let coverage = Coverage::of(target, &object);
        let mut loaded = Loaded::default();
        loaded.insert(Arc::clone(&object));
        let mut tree = Self {
            cluster,
            target: target.clone(),
            detail,
            root: Node::of(target.clone(), Health::Missing, Vec::new()),
            object,
            kinds,
            coverage,
            index: Informer::default(),
            loaded,
            publishing: HashMap::new(),
            definitions: Definitions::default(),
            trouble: None,
        };
        // What the root refers to is known already, so that everything is listed once.
        tree.cover(&super::references::of(&tree.object));
        tree.index = tree.list_covered().await;
        tree.complete().await.map_err(failed)?;
        Ok(tree)
    }

    fn draft(&self) -> Option<Draft> {
        let known = self.known();
        let root = Member { object: Arc::clone(&self.object), wanted: None };
        let root = match known.record(&self.target, &uid(&self.object)) {
            Some(record) => Member { wanted: known.member(&self.target.gvk, record).wanted, ..root },
            None => root,
        };
        draft(root, &known, &self.publishing)
    }

    fn known(&self) -> Known<'_> {
        Known { shelves: self.index.shelves(), loaded: &self.loaded, kinds: &self.kinds, detail: self.detail }
    }

    /// Reads what belongs to the tree and is not known, until all is.
    async fn complete(&mut self) -> Result<(), cluster::Error> {
        loop {
            let Some(Draft { root, wanted, unknown }) = self.draft() else { return Ok(()) };
            let is_complete = wanted.is_empty() && unknown.is_empty();
            self.root = root;
            if is_complete {
                if self.look_up_definitions().await {
                    continue;
                }
                return Ok(());
            }
            if self.cover(&unknown) {
                self.index = self.list_covered().await;
                continue;
            }
            let counts = |gvk: &GroupVersionKind, namespace: Option<&Namespace>| {
                let namespace = namespace.map_or("", Namespace::as_str);
                let shelves = self.index.shelves();
                let shelves = shelves.iter().filter(|shelf| shelf.gvk.is_same_kind(gvk));
                shelves.map(|shelf| shelf.content().count_in(namespace)).sum()
            };
            let session = &self.cluster.session;
            self.loaded.read(session, wanted, counts).await?;
            let placed = unknown.into_iter().filter_map(|reference| {
                let kind = self.kinds.iter().find(|kind| kind.gvk.is_same_kind(&reference.target.gvk))?;
                let target = place(&reference.target, kind);
                Some((reference, target))
            });
            self.loaded.look_up(session, placed.collect()).await?;
            if let Some(object) = self.loaded.copy(&uid(&self.object)).and_then(|copy| copy.object.clone()) {
                self.object = object;
            }
        }
    }

    /// Covers the targets of references; whether more has to be listed than before.
    fn cover(&mut self, references: &[Reference]) -> bool {
        let mut is_more = false;
        for Reference { target, .. } in references {
            let kind = self.kinds.iter().find(|kind| kind.gvk.is_same_kind(&target.gvk));
            if let Some(kind) = kind {
                is_more |= self.coverage.add(&kind.gvk, place(target, kind).namespace.as_ref());
            }
        }
        is_more
    }

    async fn list_covered(&self) -> Informer<Records> {
        let informers = &self.cluster.informers;
        if self.coverage.is_everything() {
            let is_about_nodes = self.target.kind() == "Node";
            let kinds = self.kinds.iter().filter(|kind| is_about_nodes || !belongs_to_nodes(&kind.gvk));
            informers.list_everywhere(kinds.cloned(), self.coverage.namespaces()).await
        } else {
            informers.list(self.coverage.lists(&self.kinds)).await
        }
    }

    /// Finds out for kinds without a status whether they will have one; whether that changes something.
    async fn look_up_definitions(&mut self) -> bool {
        let mut silent = BTreeSet::new();
        let mut nodes = vec![&self.root];
        while let Some(node) = nodes.pop() {
            nodes.extend(&node.children);
            if node.health == Health::NoStatus && !self.publishing.contains_key(&node.target.gvk) {
                silent.insert(node.target.gvk.clone());
            }
        }
        let mut publishes = false;
        for gvk in silent {
            let found = self.cluster.session.conditions(&gvk).await.are_declared();
            publishes |= found;
            self.publishing.insert(gvk, found);
        }
        publishes
    }

    /// Waits until something changes; [`OwnerTree::refresh`] takes it over. Waiting may be cancelled.
    pub(crate) async fn changed(&mut self) {
        tokio::select! {
            () = self.index.changed() => return,
            () = self.definitions.changed(self.cluster, &self.kinds) => {}
        }
        // Asked for again by the refresh.
        self.kinds.clear();
    }

    /// Takes over what has changed. The deletion of the root object is a failure.
    pub(crate) async fn refresh(&mut self) -> Result<(), Failure> {
        let is_gone = {
            let known = self.known();
            let namespace = self.target.namespace.as_ref();
            let is_listed = known.covers(&self.target.gvk, namespace);
            is_listed && known.record(&self.target, &uid(&self.object)).is_none()
        };
        if is_gone {
            return Err(missing(&self.target).into());
        }
        let outcome = tokio::time::timeout(PATIENCE, self.take_over()).await;
        self.trouble = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(diag::error_chain(&error)),
            Err(_) => Some(format!("what has changed could not be read within {} s", PATIENCE.as_secs())),
        };
        Ok(())
    }

    async fn take_over(&mut self) -> Result<(), cluster::Error> {
        if self.kinds.is_empty() {
            self.kinds = kinds_to_list(self.cluster.session.resources().await?);
            self.definitions.look_at(&self.kinds);
            self.index = self.list_covered().await;
        }
        self.loaded.retain(&self.root.uids());
        self.complete().await
    }

    /// What could not be listed or read, in words.
    pub(crate) fn unreadable(&self) -> Vec<String> {
        let mut unreadable = self.index.unreadable();
        unreadable.extend(self.loaded.refused.iter().map(|kind| format!("the content of each {kind}")));
        unreadable
    }

    /// The kinds whose changes are not seen.
    pub(crate) fn unwatched(&self) -> Vec<String> {
        self.index.unwatched()
    }

    /// Why the tree may be out of date.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.index.trouble().or_else(|| self.trouble.clone())
    }

    /// An object of the tree.
    pub(crate) fn member(&self, uid: &str) -> Option<Arc<Value>> {
        self.loaded.copy(uid)?.object.clone()
    }

    /// Whether objects of a kind are in namespaces.
    pub(crate) fn is_namespaced(&self, gvk: &GroupVersionKind) -> bool {
        self.kinds.iter().any(|kind| kind.gvk.is_same_kind(gvk) && kind.namespaced)
    }
}

/// Whether objects of a kind belong to Nodes, or to nothing at all. They are read by name if something refers to one.
fn belongs_to_nodes(gvk: &GroupVersionKind) -> bool {
    matches!(
        (gvk.group(), gvk.kind()),
        ("flowcontrol.apiserver.k8s.io" | "certificates.k8s.io", _)
            | ("networking.k8s.io", "IPAddress" | "ServiceCIDR")
            | ("resource.k8s.io", "DeviceClass" | "ResourceSlice")
            | ("storage.k8s.io", "CSIDriver" | "CSINode" | "VolumeAttachment")
    )
}

/// Each kind once, in its preferred version, without numerous kinds that neither own nor belong to anything.
pub(crate) fn kinds_to_list(resources: Vec<Resource>) -> Vec<Resource> {
    let mut best: BTreeMap<(String, String), Resource> = BTreeMap::new();
    for resource in resources {
        let gvk = &resource.gvk;
        let noise = matches!(
            (gvk.group(), gvk.kind()),
            ("" | "events.k8s.io", "Event")
                | ("", "ComponentStatus" | "Endpoints")
                | ("coordination.k8s.io", "Lease")
                | ("metrics.k8s.io", _)
        );
        if noise || !resource.can("list") {
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
        let all = vec![
            resource("autoscaling/v1/HorizontalPodAutoscaler", true),
            resource("autoscaling/v2/HorizontalPodAutoscaler", true),
            resource("v1/Event", true),
            resource("events.k8s.io/v1/Event", true),
            resource("v1/Node", false),
        ];
        let names: Vec<String> = kinds_to_list(all).iter().map(|it| it.gvk.to_string()).collect();
        assert_eq!(names, ["v1/Node", "autoscaling/v2/HorizontalPodAutoscaler"]);
    }
}
