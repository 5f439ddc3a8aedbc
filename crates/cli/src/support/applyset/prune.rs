//! The members of a set that are not in the files: which of them may be deleted, and what became of those.

use cluster::{Resource, Session};
use manifest::ObjectRef;
use plan::applyset::{self, Fate};
use serde_json::Value;

use super::{ApplySet, SetPlan};
use crate::support::batch::resolve::{ResolvedObject, is_needed_by_others};
use crate::support::content;
use crate::support::owner_tree::reference_of;

/// A member that is not in the files.
pub(crate) struct Prune {
    pub(crate) target: ObjectRef,
    pub(crate) uid: Option<String>,
    pub(crate) fate: Fate,
    /// What an apply did about it; `None` for a plan.
    pub(crate) outcome: Option<Outcome>,
}

/// What an apply did about a member that was to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Deleted,
    /// It was not deleted, for this reason.
    NotDeleted(String),
}

/// What happens to a member that is not in the files, or what has happened to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End<'p> {
    /// It stays, for this reason.
    Kept(&'p str),
    /// The user has not asked for deletions.
    NotAsked,
    Deleted {
        finalizers: &'p [String],
    },
    /// It should have been deleted, and this is why it was not.
    NotDeleted(&'p str),
}

impl Prune {
    fn new(target: &ObjectRef, member: &Value, fate: Fate) -> Self {
        let uid = member["metadata"]["uid"].as_str().map(str::to_owned);
        Self { target: target.clone(), uid, fate, outcome: None }
    }

    pub(crate) fn end(&self, is_pruned: bool) -> End<'_> {
        match (&self.fate, &self.outcome) {
            (Fate::Keep(why), _) => End::Kept(why),
            (Fate::Delete { .. }, _) if !is_pruned => End::NotAsked,
            (Fate::Delete { .. }, Some(Outcome::NotDeleted(why))) => End::NotDeleted(why),
            (Fate::Delete { finalizers }, _) => End::Deleted { finalizers },
        }
    }
}

impl SetPlan {
    /// The members that are not in the files, each with what happens or has happened to it.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (&Prune, End<'_>)> {
        self.prunes.iter().map(|prune| (prune, prune.end(self.is_pruned)))
    }

    /// The members that are deleted, or were deleted.
    pub(crate) fn deletes(&self) -> impl Iterator<Item = &Prune> {
        self.ends().filter(|(_, end)| matches!(end, End::Deleted { .. })).map(|(prune, _)| prune)
    }

    /// How many members should have been deleted and were not.
    pub(crate) fn not_deleted(&self) -> usize {
        self.ends().filter(|(_, end)| matches!(end, End::NotDeleted(_))).count()
    }

    /// Says of every member whose deletion has no outcome that it was not deleted.
    pub(crate) fn leave_rest(&mut self, why: &str) {
        let is_pruned = self.is_pruned;
        let due = |prune: &&mut Prune| matches!(prune.end(is_pruned), End::Deleted { .. });
        for prune in self.prunes.iter_mut().filter(due).filter(|prune| prune.outcome.is_none()) {
            prune.outcome = Some(Outcome::NotDeleted(why.to_owned()));
        }
    }

    /// The members that an apply leaves, those included whose deletion something may hold up.
    pub(crate) fn remaining(&self) -> Vec<&ObjectRef> {
        let is_gone = |end: &End<'_>| matches!(end, End::Deleted { finalizers } if finalizers.is_empty());
        self.ends().filter(|(_, end)| !is_gone(end)).map(|(prune, _)| &prune.target).collect()
    }
}

impl ApplySet {
    /// The members that are not among `objects`, namespaces and CRDs last.
    pub(crate) async fn prunes(&self, session: &Session, objects: &[ResolvedObject]) -> Vec<Prune> {
        self.fates(session, objects, |_| false).await
    }

    /// What a deletion of the whole set does to its members. The parent goes as well, so it keeps no namespace.
    pub(crate) async fn deletions(&self, session: &Session) -> Vec<Prune> {
        let is_parent =
            |item: &Value| reference_of(item).is_some_and(|found| found.is_same_object(&self.parent));
        self.fates(session, &[], is_parent).await
    }

    async fn fates(
        &self,
        session: &Session,
        objects: &[ResolvedObject],
        goes: impl Fn(&Value) -> bool,
    ) -> Vec<Prune> {
        let is_applied =
            |target: &ObjectRef| objects.iter().any(|object| object.target.is_same_object(target));
        let left = self.members.iter().filter(|(target, _)| !is_applied(target));
        let (containers, others): (Vec<_>, Vec<_>) =
            left.partition(|(target, _)| is_needed_by_others(target));
        let mut prunes: Vec<Prune> = others
            .into_iter()
            .map(|(target, member)| Prune::new(target, member, applyset::fate(member, &self.id)))
            .collect();
        let kept = prunes.iter().filter(|prune| matches!(prune.fate, Fate::Keep(_)));
        let stays: Vec<ObjectRef> = objects
            .iter()
            .map(|object| &object.target)
            .chain(kept.map(|prune| &prune.target))
            .cloned()
            .collect();
        for (target, member) in containers {
            let fate = match applyset::fate(member, &self.id) {
                keep @ Fate::Keep(_) => keep,
                delete @ Fate::Delete { .. } => {
                    self.content_of(session, target, &stays, &goes).await.map_or(delete, Fate::Keep)
                }
            };
            prunes.push(Prune::new(target, member, fate));
        }
        prunes.sort_by_key(|prune| (is_needed_by_others(&prune.target), prune.target.clone()));
        prunes
    }

    /// Why a namespace or a CRD is kept: what is in it would be deleted with it.
    async fn content_of(
        &self,
        session: &Session,
        container: &ObjectRef,
        stays: &[ObjectRef],
        goes: &impl Fn(&Value) -> bool,
    ) -> Option<String> {
        let unknown =
            |error: cluster::Error| format!("its content cannot be listed: {}", diag::error_chain(&error));
        let resources = match session.resources().await {
            Ok(resources) => resources,
            Err(error) => return Some(unknown(error)),
        };
        if let Some(inside) = stays.iter().find(|object| is_inside(object, container, &resources)) {
            return Some(format!("it still contains {inside}"));
        }
        let others = format!("{}!={}", applyset::PART_OF, self.id);
        match content::foreign(session, container, others, goes).await {
            Ok(content) => content.map(|content| format!("it still contains {content}")),
            Err(error) => Some(unknown(error)),
        }
    }
}

/// Whether an object is in this namespace, or of the kind that this CRD defines.
fn is_inside(object: &ObjectRef, container: &ObjectRef, resources: &[Resource]) -> bool {
    if container.kind() == "Namespace" {
        return object.namespace.as_ref().is_some_and(|namespace| namespace.as_str() == container.name);
    }
    let mut served = resources.iter().filter(|resource| resource.gvk.is_same_kind(&object.gvk));
    served.any(|resource| resource.crd_name() == container.name)
}

#[cfg(test)]
mod tests {
    use manifest::Namespace;

    use super::*;
    use crate::support::kinds::tests::resource;

    fn object(kind: &str, namespace: &str, name: &str) -> ObjectRef {
        ObjectRef::new(kind.parse().unwrap(), Namespace::new(namespace), name)
    }

    #[test]
    fn what_stays_keeps_its_namespace_and_its_definition() {
        let widgets = resource("example.org/v1/Widget", "widgets", true);
        let definition = "apiextensions.k8s.io/v1/CustomResourceDefinition";
        let check = |inside: &ObjectRef, container: &ObjectRef, expected: bool| {
            let found = is_inside(inside, container, std::slice::from_ref(&widgets));
            assert_eq!(found, expected, "{inside} in {container}");
        };
        let map = object("v1/ConfigMap", "shop", "a");
        let widget = object("example.org/v1beta1/Widget", "shop", "w");
        check(&map, &object("v1/Namespace", "", "shop"), true);
        check(&map, &object("v1/Namespace", "", "other"), false);
        check(&object("v1/Node", "", "shop"), &object("v1/Namespace", "", "shop"), false);
        check(&widget, &object(definition, "", "widgets.example.org"), true);
        check(&map, &object(definition, "", "widgets.example.org"), false);
    }

    #[test]
    fn a_member_ends_as_its_fate_and_the_apply_have_it() {
        let delete = || Fate::Delete { finalizers: vec!["f".to_owned()] };
        let check = |fate: Fate, outcome: Option<Outcome>, is_pruned: bool, expected: End<'_>| {
            let prune = Prune { target: object("v1/ConfigMap", "shop", "a"), uid: None, fate, outcome };
            assert_eq!(prune.end(is_pruned), expected);
        };
        let finalizers = ["f".to_owned()];
        let not_deleted = || Some(Outcome::NotDeleted("x".to_owned()));
        check(Fate::Keep("y".to_owned()), None, true, End::Kept("y"));
        check(delete(), None, false, End::NotAsked);
        check(delete(), None, true, End::Deleted { finalizers: &finalizers });
        check(delete(), Some(Outcome::Deleted), true, End::Deleted { finalizers: &finalizers });
        check(delete(), not_deleted(), true, End::NotDeleted("x"));
    }

    #[test]
    fn members_whose_deletion_has_no_outcome_are_left_and_stay_known() {
        let prune = |name: &str, finalizers: &[&str], outcome: Option<Outcome>| Prune {
            target: object("v1/ConfigMap", "shop", name),
            uid: None,
            fate: Fate::Delete { finalizers: finalizers.iter().map(|&it| it.to_owned()).collect() },
            outcome,
        };
        let kept = Prune { fate: Fate::Keep("owned".to_owned()), ..prune("kept", &[], None) };
        let mut plan = SetPlan::sample(vec![
            prune("gone", &[], Some(Outcome::Deleted)),
            prune("held", &["f"], Some(Outcome::Deleted)),
            prune("left", &[], None),
            kept,
        ]);
        plan.leave_rest("the apply was interrupted");
        let names = |targets: Vec<&ObjectRef>| targets.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(plan.deletes().map(|prune| &prune.target).collect()), ["gone", "held"]);
        assert_eq!(names(plan.remaining()), ["held", "left", "kept"]);
        assert_eq!(plan.not_deleted(), 1);
        plan.is_pruned = false;
        assert_eq!((plan.deletes().count(), plan.not_deleted(), plan.remaining().len()), (0, 0, 4));
    }
}
