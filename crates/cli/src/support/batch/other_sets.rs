//! Objects that belong to another set: applying them here would take them away from it, and it would not notice.

use std::collections::HashMap;

use cluster::{Selection, Session};
use diag::Diagnostic;
use manifest::{Namespace, ObjectRef};
use plan::applyset;

use super::Batch;
use crate::codes;
use crate::support::owner_tree::reference_of;

impl Batch {
    /// Refuses the members of other sets, unless the user wants to take them over.
    pub(crate) async fn leaving_other_sets(mut self, session: &Session) -> Self {
        let Some(plan) = self.set.as_ref().filter(|plan| !plan.takes_members) else { return self };
        let members = self.live.iter().filter_map(|(target, live)| {
            let other = applyset::other_set(live.as_ref().ok()?.object(), &plan.set.id)?;
            Some((target.clone(), other.to_owned()))
        });
        let members: Vec<(ObjectRef, String)> = members.collect();
        let mut parents: HashMap<String, Option<ObjectRef>> = HashMap::new();
        for (target, id) in members {
            if !parents.contains_key(&id) {
                let parent = parent_of(session, &id, target.namespace.as_ref()).await;
                parents.insert(id.clone(), parent);
            }
            let why = taken(&target, &id, parents[&id].as_ref());
            self.live.insert(target, Err(Box::new(why)));
        }
        self
    }
}

/// The parent of a set, as far as the user may look for it.
async fn parent_of(session: &Session, id: &str, near: Option<&Namespace>) -> Option<ObjectRef> {
    for kind in ["v1/Secret", "v1/ConfigMap"] {
        let kind = kind.parse().expect("a fixed kind");
        for namespace in [None, near.cloned()] {
            let labels = Some(format!("{}={id}", applyset::ID));
            let selection = Selection { namespace, labels, ..Selection::default() };
            let listed = session.list(&kind, &selection).await;
            let mut items = listed.into_iter().flat_map(|listing| listing.items);
            if let Some(parent) = items.find_map(|item| reference_of(&item)) {
                return Some(parent);
            }
        }
    }
    None
}

fn taken(target: &ObjectRef, id: &str, parent: Option<&ObjectRef>) -> Diagnostic {
    let set = parent.map_or_else(|| format!("the set {id}"), |parent| format!("the set of {parent}"));
    Diagnostic::error(codes::APPLYSET_MEMBER, format!("{target} belongs to another set"))
        .object(target.to_string())
        .detail(format!(
            "Its label {} names {set}. An object cannot belong to two sets: that set would lose it.",
            applyset::PART_OF
        ))
        .hint("Remove it from the files of one of the two sets, or take it over with --adopt-applyset.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_set_is_named_as_well_as_it_is_known() {
        let object =
            |kind: &str, name: &str| ObjectRef::new(kind.parse().unwrap(), Namespace::new("shop"), name);
        let check = |parent: Option<ObjectRef>, expected: &str| {
            let why = taken(&object("v1/ConfigMap", "a"), "applyset-x-v1", parent.as_ref());
            assert!(why.is_error() && why.detail.contains(expected), "{}", why.detail);
        };
        check(Some(object("v1/Secret", "other")), "part-of names the set of Secret shop/other.");
        check(None, "part-of names the set applyset-x-v1.");
    }
}
