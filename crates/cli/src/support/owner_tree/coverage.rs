//! Which objects may belong to a tree: those in some namespaces, or all. Only they are listed.

use std::collections::BTreeSet;

use cluster::{Resource, Selection};
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::Value;

use super::inventories::Membership;
use crate::support::informer::within;

/// With more namespaces than this, one list of everything costs less.
const MOST_NAMESPACES: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Coverage {
    is_everything: bool,
    /// In these namespaces, all kinds.
    namespaces: BTreeSet<Namespace>,
    /// Kinds that own nothing, in one namespace or outside of all.
    single: BTreeSet<(GroupVersionKind, Option<Namespace>)>,
}

impl Coverage {
    /// What `object` may own. A namespaced owner owns nothing outside its namespace, unless others are marked as its own.
    pub(super) fn of(target: &ObjectRef, object: &Value) -> Self {
        let is_marked = Membership::of(object).is_some();
        Self {
            is_everything: target.namespace.is_none() || is_marked,
            namespaces: target.namespace.iter().cloned().collect(),
            single: BTreeSet::new(),
        }
    }

    /// Covers an object that another refers to, and what it may own; whether that is more than before.
    pub(super) fn add(&mut self, gvk: &GroupVersionKind, namespace: Option<&Namespace>) -> bool {
        if self.is_everything {
            return false;
        }
        let is_more = match namespace {
            Some(namespace) if self.namespaces.contains(namespace) => false,
            _ if owns_nothing(gvk) => self.single.insert((gvk.clone(), namespace.cloned())),
            Some(namespace) => self.namespaces.insert(namespace.clone()),
            None => {
                self.is_everything = true;
                true
            }
        };
        self.is_everything |= self.namespaces.len() > MOST_NAMESPACES;
        is_more
    }

    pub(super) const fn namespaces(&self) -> &BTreeSet<Namespace> {
        &self.namespaces
    }

    pub(super) const fn is_everything(&self) -> bool {
        self.is_everything
    }

    /// What to list unless it is everything.
    pub(super) fn lists(&self, kinds: &[Resource]) -> Vec<(Resource, Selection)> {
        let mut lists = within(kinds, &&self.namespaces);
        for (gvk, namespace) in &self.single {
            let is_covered = namespace.as_ref().is_some_and(|it| self.namespaces.contains(it));
            let kind = kinds.iter().find(|kind| kind.gvk.is_same_kind(gvk)).filter(|_| !is_covered);
            let selection = Selection { namespace: namespace.clone(), ..Selection::default() };
            lists.extend(kind.map(|kind| (kind.clone(), selection)));
        }
        lists
    }
}

fn owns_nothing(gvk: &GroupVersionKind) -> bool {
    let leaf = matches!(gvk.kind(), "Namespace" | "PersistentVolume" | "PersistentVolumeClaim");
    (leaf && gvk.group().is_empty()) || readiness::is_ready_when_created(gvk.group(), gvk.kind())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::support::kinds::tests::resource;

    #[test]
    fn only_what_may_belong_to_an_object_is_listed() {
        let kinds = [
            resource("v1/Node", "nodes", false),
            resource("v1/Pod", "pods", true),
            resource("v1/Secret", "secrets", true),
        ];
        let shop = Namespace::new("shop");
        let reference = |gvk: &str, namespace: &str| -> (GroupVersionKind, Option<Namespace>) {
            (gvk.parse().unwrap(), Namespace::new(namespace))
        };
        let check = |object: Value, added: &[(GroupVersionKind, Option<Namespace>)], expected: &[&str]| {
            let target = ObjectRef::new("example.org/v1/A".parse().unwrap(), shop.clone(), "a");
            let mut coverage = Coverage::of(&target, &object);
            for (gvk, namespace) in added {
                coverage.add(gvk, namespace.as_ref());
                assert!(!coverage.add(gvk, namespace.as_ref()), "{gvk} is covered now");
            }
            let lists = coverage.lists(&kinds);
            let shown = lists.iter().map(|(kind, selection)| {
                let namespace = selection.namespace.as_ref().map_or("*", Namespace::as_str);
                format!("{} {namespace}", kind.plural)
            });
            if expected.is_empty() {
                assert!(coverage.is_everything());
            } else {
                assert_eq!(shown.collect::<Vec<_>>(), expected);
            }
        };
        check(json!({}), &[], &["pods shop", "secrets shop"]);
        check(json!({}), &[reference("v1/Secret", "vault")], &["pods shop", "secrets shop", "secrets vault"]);
        check(json!({}), &[reference("apps/v1/Deployment", "shop")], &["pods shop", "secrets shop"]);
        check(
            json!({}),
            &[reference("v1/Pod", "vault"), reference("v1/Secret", "vault")],
            &["pods shop", "pods vault", "secrets shop", "secrets vault"],
        );
        check(json!({}), &[reference("example.org/v1/XApp", "")], &[]);
        let several: Vec<_> = ["a", "b", "c", "d"].map(|name| reference("v1/Pod", name)).into();
        check(json!({}), &several, &[]);
        let set = json!({ "metadata": { "name": "s", "labels": { "applyset.kubernetes.io/id": "i" } } });
        check(set, &[], &[]);
    }
}
