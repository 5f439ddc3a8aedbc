//! An object and its tree: what it owns, and what it refers to as its own.

mod condition;
mod coverage;
pub(crate) mod inventories;
mod known;
mod lister;
mod loaded;
mod parents;
mod references;

pub(crate) use condition::{PLACES as CONDITIONS, is_met};
pub(crate) use lister::{Detail, OwnerTree, kinds_to_list};
pub(crate) use parents::{parent, parents};

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use manifest::{GroupVersionKind, ObjectRef};
use readiness::Health;
use serde_json::{Value, json};

use self::condition::LatestCondition;
use self::inventories::Membership;
use self::loaded::Wanted;
use self::references::Reference;
use super::cloud_operation::CloudOperation;
use super::object_json;

/// An object with its children.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) target: ObjectRef,
    /// Tells it apart from earlier and later objects of the same name; empty if it does not exist.
    pub(crate) uid: String,
    pub(crate) health: Health,
    /// Whether it may not be read, so that nothing is known of it.
    pub(crate) is_hidden: bool,
    /// The API server's timestamp.
    pub(crate) created: Option<String>,
    /// The condition that has changed last.
    pub(crate) condition: Option<LatestCondition>,
    /// The cloud operation in progress.
    pub(crate) operation: Option<CloudOperation>,
    pub(crate) children: Vec<Node>,
    /// Whether it is so deep in the tree that its children are left out.
    pub(crate) is_cut: bool,
}

/// The most levels of a tree. Owners can be chained without end.
const MAX_DEPTH: usize = 64;
/// What is said of an object that may not be read.
pub(crate) const HIDDEN: &str = "you may not read it";

impl Node {
    /// The health in one word, for programs.
    pub(crate) const fn health_word(&self) -> &'static str {
        if self.is_hidden { "hidden" } else { health_word(&self.health) }
    }

    /// Why it is not ready, or why nothing is known.
    pub(crate) fn trouble(&self) -> Option<&str> {
        if self.is_hidden { Some(HIDDEN) } else { self.health.trouble() }
    }

    /// The tree as `plimsoll tree -o json` prints it.
    pub(crate) fn to_json(&self) -> Value {
        let mut fields = json!({
            "health": self.health_word(),
            "why": self.trouble(),
            "created": self.created,
            "condition": self.condition,
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

    /// An object of which only this is known.
    pub(crate) fn of(target: ObjectRef, health: Health, children: Vec<Self>) -> Self {
        Self {
            target,
            uid: String::new(),
            health,
            is_hidden: false,
            created: None,
            condition: None,
            operation: None,
            children,
            is_cut: false,
        }
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

/// The objects that a tree is made of.
pub(crate) trait Population {
    /// The objects that `uid` owns.
    fn owned_by(&self, uid: &str) -> Vec<Member>;

    fn referred(&self, reference: &Reference) -> Lookup;

    /// The objects that an inventory of another tool marks as its members.
    fn members_of(&self, membership: &Membership) -> Vec<Member>;
}

/// An object of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The metadata alone, if the rest was not read.
    pub(crate) object: Arc<Value>,
    /// How to read the rest, if that matters.
    pub(crate) wanted: Option<Wanted>,
}

/// What is known of an object that another refers to.
#[derive(Clone, Debug)]
pub(crate) enum Lookup {
    Found(Member),
    /// It does not exist.
    Absent(ObjectRef),
    /// It may not be read.
    Hidden(ObjectRef),
    /// It has to be read first.
    Unknown,
}

/// A tree, as far as it is known.
pub(crate) struct Draft {
    pub(crate) root: Node,
    /// Objects that have to be read to complete it.
    pub(crate) wanted: Vec<Wanted>,
    /// References that have to be looked up to complete it.
    pub(crate) unknown: Vec<Reference>,
}

/// The object `root` with its descendants, sorted by kind and name. `publishing` has the kinds whose CRDs declare conditions.
pub(crate) fn draft(
    root: Member,
    population: &impl Population,
    publishing: &HashMap<GroupVersionKind, bool>,
) -> Option<Draft> {
    let mut builder = TreeBuilder {
        population,
        publishing,
        seen: HashSet::new(),
        depth: 0,
        wanted: Vec::new(),
        unknown: Vec::new(),
    };
    let root = builder.node(root)?;
    Some(Draft { root, wanted: builder.wanted, unknown: builder.unknown })
}

struct TreeBuilder<'a, P> {
    population: &'a P,
    publishing: &'a HashMap<GroupVersionKind, bool>,
    /// Uids that are in the tree: references may form a cycle, and an object may be both owned and referred to.
    seen: HashSet<String>,
    depth: usize,
    wanted: Vec<Wanted>,
    unknown: Vec<Reference>,
}

impl<P: Population> TreeBuilder<'_, P> {
    fn node(&mut self, member: Member) -> Option<Node> {
        let object = &*member.object;
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        if !self.seen.insert(uid.to_owned()) {
            return None;
        }
        let target = reference_of(object)?;
        self.wanted.extend(member.wanted);
        let is_cut = self.depth == MAX_DEPTH;
        self.depth += 1;
        let children = if is_cut { Vec::new() } else { self.children(uid, object) };
        self.depth -= 1;
        let publishes_conditions = self.publishing.get(&target.gvk) == Some(&true);
        Some(Node {
            uid: uid.to_owned(),
            health: Health::of(object, publishes_conditions),
            is_hidden: false,
            created: object["metadata"]["creationTimestamp"].as_str().map(str::to_owned),
            condition: LatestCondition::of(object),
            operation: CloudOperation::of(object),
            target,
            children,
            is_cut,
        })
    }

    fn children(&mut self, uid: &str, object: &Value) -> Vec<Node> {
        let owned = self.population.owned_by(uid);
        let mut children: Vec<Node> = owned.into_iter().filter_map(|child| self.node(child)).collect();
        for reference in references::of(object) {
            children.extend(match self.population.referred(&reference) {
                Lookup::Found(found) => self.node(found),
                Lookup::Absent(target) => Some(Node::of(target, Health::Missing, Vec::new())),
                Lookup::Hidden(target) => {
                    Some(Node { is_hidden: true, ..Node::of(target, Health::NoStatus, Vec::new()) })
                }
                Lookup::Unknown => {
                    self.unknown.push(reference);
                    None
                }
            });
        }
        if let Some(membership) = Membership::of(object) {
            let members = self.population.members_of(&membership);
            children.extend(members.into_iter().filter_map(|member| self.node(member)));
        }
        // One that does not exist yet is not a problem: it is written once there is something to connect to.
        if let Some(secret) = references::connection_secret(object) {
            match self.population.referred(&secret) {
                Lookup::Found(found) => children.extend(self.node(found)),
                Lookup::Unknown => self.unknown.push(secret),
                Lookup::Absent(_) | Lookup::Hidden(_) => {}
            }
        }
        children.sort_by(|left, right| left.target.cmp(&right.target));
        children
    }
}

pub(crate) fn reference_of(object: &Value) -> Option<ObjectRef> {
    ObjectRef::of(object.as_object()?).ok()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
