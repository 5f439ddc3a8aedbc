//! What is known of the objects that may belong to a tree: records of all of them, and those that were read.

use std::sync::Arc;

use cluster::Resource;
use manifest::{GroupVersionKind, Namespace, ObjectRef};

use super::inventories::Membership;
use super::lister::Detail;
use super::loaded::{Loaded, Wanted};
use super::references::Reference;
use super::{Lookup, Member, Population};
use crate::support::informer::{OpenShelf, Record, Records};

pub(super) struct Known<'k> {
    pub(super) shelves: Vec<OpenShelf<'k, Records>>,
    pub(super) loaded: &'k Loaded,
    pub(super) kinds: &'k [Resource],
    pub(super) detail: Detail,
}

impl Known<'_> {
    /// The object of a record, as far as it was read.
    pub(super) fn member(&self, gvk: &GroupVersionKind, record: &Record) -> Member {
        let copy = self.loaded.copy(&record.uid);
        let object = copy.and_then(|copy| copy.object.clone());
        let is_wanted = if let Some(copy) = copy {
            !copy.is_current(&record.version)
        } else {
            let says_more = !readiness::is_ready_when_created(gvk.group(), gvk.kind());
            self.detail == Detail::Everything || record.is_going || says_more
        };
        Member {
            object: object.unwrap_or_else(|| Arc::new(record.object(gvk))),
            wanted: is_wanted.then(|| Wanted::new(gvk, record)),
        }
    }

    /// The record of an object, if its kind is listed.
    pub(super) fn record(&self, target: &ObjectRef, uid: &str) -> Option<&Arc<Record>> {
        self.of_kind(&target.gvk).find_map(|shelf| shelf.content().get(uid))
    }

    /// Whether all objects of the kind in a namespace are known.
    pub(super) fn covers(&self, gvk: &GroupVersionKind, namespace: Option<&Namespace>) -> bool {
        self.of_kind(gvk).any(|shelf| shelf.namespace.is_none() || shelf.namespace == namespace)
    }

    fn of_kind(&self, gvk: &GroupVersionKind) -> impl Iterator<Item = &OpenShelf<'_, Records>> {
        self.shelves.iter().filter(|shelf| shelf.gvk.is_same_kind(gvk))
    }
}

impl Population for Known<'_> {
    fn owned_by(&self, uid: &str) -> Vec<Member> {
        let shelves = self.shelves.iter();
        let owned =
            shelves.flat_map(|shelf| shelf.content().owned_by(uid).map(|it| self.member(shelf.gvk, it)));
        owned.collect()
    }

    fn referred(&self, reference: &Reference) -> Lookup {
        let target = &reference.target;
        if let Some(found) = self.loaded.named(reference) {
            return found;
        }
        let Some(kind) = self.kinds.iter().find(|kind| kind.gvk.is_same_kind(&target.gvk)) else {
            return Lookup::Absent(target.clone());
        };
        for shelf in self.of_kind(&target.gvk) {
            let allowed = |record: &&Arc<Record>| {
                let namespace = Namespace::new(&*record.namespace);
                reference.allows(namespace.as_ref())
            };
            if let Some(record) = shelf.content().named(&target.name).find(allowed) {
                return Lookup::Found(self.member(shelf.gvk, record));
            }
        }
        let place = place(target, kind);
        if self.covers(&target.gvk, place.namespace.as_ref()) {
            Lookup::Absent(place)
        } else {
            Lookup::Unknown
        }
    }

    fn members_of(&self, membership: &Membership) -> Vec<Member> {
        let shelves = self.shelves.iter();
        let members = shelves.flat_map(|shelf| {
            let marked = shelf.content().marked().filter(|record| membership.has(|key| record.mark(key)));
            marked.map(|record| self.member(shelf.gvk, record))
        });
        members.collect()
    }
}

/// The target of a reference that may have the namespace of the object that refers to it.
pub(super) fn place(target: &ObjectRef, kind: &Resource) -> ObjectRef {
    let namespace = target.namespace.clone().filter(|_| kind.namespaced);
    ObjectRef::new(target.gvk.clone(), namespace, &target.name)
}
