//! An object and its tree: what it owns, and what it refers to as its own.

mod inventories;
mod lister;

pub(crate) use lister::{OwnerTree, kinds_to_list};

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use manifest::{GroupVersionKind, Namespace, ObjectRef};
use readiness::Health;
use serde_json::{Value, json};

use self::inventories::Membership;
use super::cloud_operation::CloudOperation;
use super::object_json;

/// An object with its children.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) target: ObjectRef,
    /// Tells it apart from earlier and later objects of the same name; empty if it does not exist.
    pub(crate) uid: String,
    pub(crate) health: Health,
    /// The API server's timestamp.
    pub(crate) created: Option<String>,
    /// The cloud operation in progress.
    pub(crate) operation: Option<CloudOperation>,
    pub(crate) children: Vec<Node>,
    /// Whether it is so deep in the tree that its children are left out.
    pub(crate) is_cut: bool,
}

/// The most levels of a tree. Owners can be chained without end.
const MAX_DEPTH: usize = 64;

impl Node {
    /// The health in one word, for programs.
    pub(crate) const fn health_word(&self) -> &'static str {
        health_word(&self.health)
    }

    /// The tree as `plimsoll tree -o json` prints it.
    pub(crate) fn to_json(&self) -> Value {
        let mut fields = json!({
            "health": self.health_word(),
            "why": self.health.trouble(),
            "created": self.created,
            "operation": self.operation,
            "children": self.children.iter().map(Self::to_json).collect::<Vec<_>>(),
        });
        if self.is_cut {
            fields["isCut"] = true.into();
        }
        object_json(&self.target, fields)
    }

    /// The uids of the object and of everything below it.
    pub(crate) fn uids(&self) -> Vec<&str> {
        let below = self.children.iter().flat_map(Self::uids);
        std::iter::once(self.uid.as_str()).filter(|uid| !uid.is_empty()).chain(below).collect()
    }
}

/// A health in one word, for programs.
pub(crate) const fn health_word(health: &Health) -> &'static str {
    match health {
        Health::NoStatus => "silent",
        Health::Ready => "ready",
        Health::Waiting(_) => "waiting",
        Health::Failed(_) => "failed",
        Health::Terminating(_) => "going",
        Health::Missing => "missing",
    }
}

/// The object `root` with its descendants among `all`, sorted by kind and name. `publishing` has the kinds whose CRDs
/// declare conditions.
pub(crate) fn tree(
    root: &Value,
    all: &[Arc<Value>],
    publishing: &HashMap<GroupVersionKind, bool>,
) -> Option<Node> {
    let mut owned: HashMap<&str, Vec<&Value>> = HashMap::new();
    for object in all {
        for owner in array(&object["metadata"]["ownerReferences"]) {
            owned.entry(owner["uid"].as_str().unwrap_or_default()).or_default().push(object);
        }
    }
    TreeBuilder { all, owned, publishing, seen: HashSet::new(), depth: 0 }.node(root)
}

/// The parent of an object as `Kind name`: its controller, or the claim it was created for.
pub(crate) fn parent(object: &Value) -> Option<String> {
    let owners = array(&object["metadata"]["ownerReferences"]);
    let controller = owners.iter().find(|owner| owner["controller"] == true).or(owners.first());
    let claim = &object["spec"]["claimRef"];
    let parent = controller.unwrap_or(claim);
    Some(format!("{} {}", parent["kind"].as_str()?, parent["name"].as_str()?))
}

struct TreeBuilder<'a> {
    all: &'a [Arc<Value>],
    owned: HashMap<&'a str, Vec<&'a Value>>,
    publishing: &'a HashMap<GroupVersionKind, bool>,
    /// Uids on the current path: references may form a cycle, and an object may be both owned and referred to.
    seen: HashSet<String>,
    depth: usize,
}

impl TreeBuilder<'_> {
    fn node(&mut self, object: &Value) -> Option<Node> {
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        if !self.seen.insert(uid.to_owned()) {
            return None;
        }
        let is_cut = self.depth == MAX_DEPTH;
        self.depth += 1;
        let children = if is_cut { Vec::new() } else { self.children(uid, object) };
        self.depth -= 1;
        let created = object["metadata"]["creationTimestamp"].as_str().map(str::to_owned);
        let operation = CloudOperation::of(object);
        let (target, uid) = (reference_of(object)?, uid.to_owned());
        let publishes_conditions = self.publishing.get(&target.gvk) == Some(&true);
        let health = Health::of(object, publishes_conditions);
        Some(Node { target, uid, health, created, operation, children, is_cut })
    }

    fn children(&mut self, uid: &str, object: &Value) -> Vec<Node> {
        let owned = self.owned.get(uid).cloned().unwrap_or_default();
        let mut children: Vec<Node> = owned.into_iter().filter_map(|child| self.node(child)).collect();
        for reference in references(object) {
            let found = self.all.iter().find(|candidate| reference.is_to(candidate));
            match found {
                Some(found) => children.extend(self.node(found)),
                None => children.push(reference.missing()),
            }
        }
        if let Some(membership) = Membership::of(object) {
            let members = self.all.iter().filter(|member| membership.has(member));
            children.extend(members.filter_map(|member| self.node(member)));
        }
        // One that does not exist yet is no problem: it is written once there is something to connect to.
        let secret = connection_secret(object);
        let secret = secret.and_then(|secret| self.all.iter().find(|candidate| secret.is_to(candidate)));
        children.extend(secret.and_then(|secret| self.node(secret)));
        children.sort_by(|left, right| left.target.cmp(&right.target));
        children
    }
}

pub(crate) fn reference_of(object: &Value) -> Option<ObjectRef> {
    ObjectRef::of(object.as_object()?).ok()
}

/// A reference from a claim to its composite, from a composite to its composed resources, or from an inventory.
struct Reference {
    target: ObjectRef,
    /// Whether the namespace of the target is set.
    is_exact: bool,
}

impl Reference {
    fn is_to(&self, object: &Value) -> bool {
        // Most objects have another name, and comparing names is cheap.
        let has_name = object["metadata"]["name"] == self.target.name.as_str();
        has_name
            && reference_of(object).is_some_and(|candidate| {
                candidate.gvk.is_same_kind(&self.target.gvk)
                    && (candidate.namespace == self.target.namespace
                        || (!self.is_exact && candidate.namespace.is_none()))
            })
    }

    fn missing(self) -> Node {
        Node {
            target: self.target,
            uid: String::new(),
            health: Health::Missing,
            created: None,
            operation: None,
            children: Vec::new(),
            is_cut: false,
        }
    }
}

/// Whether an object refers to others as its own, which may be anywhere in the cluster.
pub(crate) fn refers_elsewhere(object: &Value) -> bool {
    !composed(object).is_empty()
        || !inventories::listed(object).is_empty()
        || Membership::of(object).is_some()
        || connection_secret(object).is_some()
}

/// The objects that an object refers to as its own.
fn references(object: &Value) -> Vec<Reference> {
    let mut references = composed(object);
    references.extend(inventories::listed(object));
    references.extend(volumes(object));
    references
}

/// The Secret with the connection details of a claim or a composite resource, which has no owner reference if it is in
/// another namespace.
fn connection_secret(object: &Value) -> Option<Reference> {
    let reference = &object["spec"]["writeConnectionSecretToRef"];
    let own = &object["metadata"]["namespace"];
    let namespace = reference["namespace"].as_str().or(own.as_str()).and_then(Namespace::new)?;
    let gvk = "v1/Secret".parse().expect("a fixed kind");
    Some(Reference {
        target: ObjectRef::new(gvk, Some(namespace), reference["name"].as_str()?),
        is_exact: true,
    })
}

/// The PersistentVolumeClaims of a pod; those that a StatefulSet creates for its pods have no owner.
fn volumes(object: &Value) -> impl Iterator<Item = Reference> {
    let is_pod = object["apiVersion"] == "v1" && object["kind"] == "Pod";
    let namespace = object["metadata"]["namespace"].as_str().and_then(Namespace::new);
    let volumes = array(&object["spec"]["volumes"]).iter().filter(move |_| is_pod);
    let named = volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
    named.map(move |name| {
        let gvk = "v1/PersistentVolumeClaim".parse().expect("a fixed kind");
        Reference { target: ObjectRef::new(gvk, namespace.clone(), name), is_exact: true }
    })
}

/// Crossplane's references: `resourceRef` and `resourceRefs` under `spec` or `spec.crossplane`.
fn composed(object: &Value) -> Vec<Reference> {
    let own = object["metadata"]["namespace"].as_str();
    let places = [&object["spec"], &object["spec"]["crossplane"]];
    let single = places.iter().map(|place| &place["resourceRef"]);
    let several = places.iter().flat_map(|place| array(&place["resourceRefs"]));
    let read = |reference: &Value| {
        let gvk = GroupVersionKind::of(reference.as_object()?).ok()?;
        let explicit = reference["namespace"].as_str();
        let namespace = explicit.or(own).and_then(Namespace::new);
        let target = ObjectRef::new(gvk, namespace, reference["name"].as_str()?);
        Some(Reference { target, is_exact: explicit.is_some() })
    };
    single.chain(several).filter_map(read).collect()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
