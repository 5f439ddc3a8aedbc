//! What the administrator of the cluster allows the objects of a namespace to do at the provider.

use std::collections::BTreeSet;

use crate::binding::Scope;

/// The defaults allow everything that the credentials allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Whether existing resources must not be adopted.
    pub no_adoption: bool,
    /// The compartments, and other parents of resources, that may be used; none means all.
    pub parents: Option<BTreeSet<String>>,
}

impl Policy {
    /// The first parent in `scope` that may not be used.
    pub(crate) fn refuses<'a>(&self, scope: &'a Scope) -> Option<(&'a str, &'a str)> {
        let parents = self.parents.as_ref()?;
        let refused = scope.iter().find(|(_, id)| !parents.contains(*id));
        refused.map(|(parameter, id)| (parameter.as_str(), id.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parent_must_be_allowed() {
        let check = |parents: Option<&[&str]>, scope: &[(&str, &str)], expected: Option<(&str, &str)>| {
            let parents = parents.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect());
            let scope = scope.iter().map(|(name, id)| ((*name).to_owned(), (*id).to_owned())).collect();
            let policy = Policy { parents, ..Policy::default() };
            assert_eq!(policy.refuses(&scope), expected, "{policy:?} {scope:?}");
        };
        check(None, &[("compartmentId", "c1")], None);
        check(Some(&["c1", "c2"]), &[("compartmentId", "c2")], None);
        check(Some(&["c1"]), &[("compartmentId", "c2")], Some(("compartmentId", "c2")));
        check(Some(&["c1"]), &[("compartmentId", "c1"), ("poolId", "p1")], Some(("poolId", "p1")));
        check(Some(&[]), &[("compartmentId", "c1")], Some(("compartmentId", "c1")));
    }
}
